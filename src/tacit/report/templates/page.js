for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    const key = row => { const cell = row.cells[column], v = cell.dataset.value; return v === undefined ? cell.textContent : Number(v); };
    const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    const rows = [...body.rows].sort((a, b) => compare(key(a), key(b)) * (down ? -1 : 1));
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows);
  }));
}
/* A table that is wider than the window says so. */
const hints = () => document.querySelectorAll(".hint").forEach(hint => {
  const box = hint.nextElementSibling;
  hint.classList.toggle("wanted", box.scrollWidth > box.clientWidth + 1);
});
addEventListener("resize", hints);
hints();
