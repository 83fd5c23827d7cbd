// Opened from the file system a page may not start workers, and the search needs one: let a hidden frame do its work.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      const load = (address) =>
        new Promise((done, failed) => {
          const script = inside.document.createElement("script");
          script.src = address;
          script.onload = done;
          script.onerror = failed;
          inside.document.body.appendChild(script);
        });
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      inside.importScripts = (...addresses) => addresses.reduce((before, next) => before.then(() => load(next)), Promise.resolve());
      this.ready = load(String(url));
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
