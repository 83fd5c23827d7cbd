export { Assignment, PersonSecret } from "./assignment.js";
export { Client, type Counters, type Decision, type Options, type Reason } from "./client.js";
export { Refused, canonical, checkAfter, digest, parsePolicy, type Policy, type Refusal } from "./policy.js";
