/** The rules of the house that no linter knows. */

import { describe, expect, it } from "vitest";

const files = Object.entries(import.meta.glob<string>("./**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true })).filter(
  ([path]) => !path.endsWith(".gen.ts"),
);
const sources = files.filter(([path]) => !path.includes(".test."));

function offenders(pattern: RegExp, among: readonly [string, string][] = sources): string[] {
  return among.filter(([, text]) => pattern.test(text)).map(([path]) => path);
}

const below = (folder: string): [string, string][] => sources.filter(([path]) => path.startsWith(`./${folder}/`));
const outside = (folder: string): [string, string][] => sources.filter(([path]) => !path.startsWith(`./${folder}/`));

describe("the house", () => {
  it("is looked at", () => {
    expect(sources.length).toBeGreaterThan(60);
    expect(offenders(/\bPreact\b|preact/).length).toBeGreaterThan(10);
  });
  it("sets no HTML anywhere, and runs no text", () => {
    expect(offenders(/innerHTML|outerHTML|insertAdjacentHTML|dangerouslySet|document\.write|\beval\(|new Function|srcdoc|DOMParser|createContextualFragment/i)).toEqual([]);
  });
  it("talks to the server from api/ alone", () => {
    expect(offenders(/\bfetch\(|new EventSource|XMLHttpRequest|sendBeacon|new WebSocket/, outside("api"))).toEqual([]);
  });
  it("keeps lib/ free of the page", () => {
    expect(offenders(/\b(document|window|localStorage|navigator|history)\b\.|from "(preact|@preact|\.\.\/(state|ui|features|app))/, below("lib"))).toEqual([]);
  });
  it("looks down, never up: api, lib, state, ui, features, app", () => {
    expect(offenders(/from "\.\.\/(ui|features|app)\//, below("state"))).toEqual([]);
    expect(offenders(/from "\.\.\/(features|app)\//, below("ui"))).toEqual([]);
    expect(offenders(/from "\.\.\/\.\.\/app\//, below("features"))).toEqual([]);
  });
  it("names no address but its own", () => {
    expect(offenders(/https?:\/\//)).toEqual([]);
  });
  it("says in each file what it owns", () => {
    expect(sources.filter(([, text]) => !text.startsWith("/**")).map(([path]) => path)).toEqual([]);
  });
  it("keeps files and lines short", () => {
    expect(files.filter(([, text]) => text.split("\n").length > 260).map(([path]) => path)).toEqual([]);
  });
});
