/** The rendering worker: one task at a time. Its owner terminates it if a task takes too long. */

import { indented } from "../data/json";
import type { How } from "./markdown";
import { rich } from "./rich";
import type { Rendered } from "./tree";

export type Task = { kind: "rich"; text: string; how: How } | { kind: "indent"; text: string };
export type Result = Rendered | { text: string };

interface Port {
  onmessage: ((event: MessageEvent<{ id: number; task: Task }>) => void) | null;
  postMessage: (message: { id: number; result: Result }) => void;
}

const port = globalThis as unknown as Port;

port.onmessage = ({ data: { id, task } }) => {
  const result: Result = task.kind === "rich" ? rich(task.text, task.how) : { text: indented(task.text) };
  port.postMessage({ id, result });
};
