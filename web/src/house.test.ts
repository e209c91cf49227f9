/** The rules of the house that no linter knows. */

import { describe, expect, it } from "vitest";

const files = Object.entries(
  import.meta.glob<string>("./**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true }),
).filter(([path]) => !path.endsWith(".gen.ts"));
const sources = files.filter(([path]) => !path.includes(".test."));

function offenders(pattern: RegExp, among: readonly [string, string][] = sources): string[] {
  return among.filter(([, text]) => pattern.test(text)).map(([path]) => path);
}

const below = (folder: string): [string, string][] => sources.filter(([path]) => path.startsWith(`./${folder}/`));
const outside = (folder: string): [string, string][] => sources.filter(([path]) => !path.startsWith(`./${folder}/`));

/** The lowest first. */
const FLOORS = ["lib", "api", "state", "ui", "features", "app", "report"];
const floorOf = (path: string): string => path.split("/")[1] ?? "";
/** Empty for what is no feature's. */
const featureOf = (path: string): string => (floorOf(path) === "features" ? (path.split("/")[2] ?? "") : "");

/** Who imports what, both as paths from here. */
const imports = files.flatMap(([from, text]) =>
  [...text.matchAll(/(?:from|import|import\() ?"(\.[^"]+)"/g)].map(([, to = ""]) => ({
    from,
    to: `.${new URL(to, `file:///${from}`).pathname}`,
  })),
);
const between = imports.filter(({ from, to }) => featureOf(to) !== "" && featureOf(from) !== featureOf(to));

describe("the house", () => {
  it("is looked at", () => {
    expect(sources.length).toBeGreaterThan(60);
    expect(offenders(/\bPreact\b|preact/).length).toBeGreaterThan(10);
    expect(imports).toContainEqual({ from: "./app/keys.ts", to: "./lib/keymap" });
  });
  it("sets no HTML anywhere, and runs no text", () => {
    expect(
      offenders(/innerHTML|outerHTML|insertAdjacentHTML|dangerouslySet|document\.write|createContextualFragment/i),
    ).toEqual([]);
    expect(offenders(/\beval\(|new Function|srcdoc|DOMParser/i)).toEqual([]);
  });
  it("talks to the server from api/ alone", () => {
    expect(offenders(/\bfetch\(|new EventSource|XMLHttpRequest|sendBeacon|new WebSocket/, outside("api"))).toEqual([]);
    // A browser sends no key with a download or an image.
    expect(offenders(/<(a|img)\b[^<]*?(\sdownload(\s+\w|\s*>)|[sS]rc=\{address\()/)).toEqual([
      "./ui/controls/Download.tsx",
    ]);
  });
  it("keeps lib/ free of the page", () => {
    expect(
      offenders(/\b(document|window|localStorage|navigator|history)\b\.|from "(preact|@preact)/, below("lib")),
    ).toEqual([]);
  });
  it("imports from its own floor or one below, never from above", () => {
    const up = imports.filter(
      ({ from, to }) => FLOORS.indexOf(floorOf(to)) > FLOORS.indexOf(floorOf(from)) && FLOORS.includes(floorOf(from)),
    );
    expect(up.filter(({ to }) => !to.startsWith("./api/types.gen"))).toEqual([]);
  });
  it("enters a feature by its index", () => {
    expect(between.filter(({ to }) => to !== `./features/${featureOf(to)}`)).toEqual([]);
  });
  it("has no circle of features", () => {
    const reached = (from: string, seen = new Set<string>()): Set<string> => {
      for (const to of between.filter((one) => featureOf(one.from) === from).map((one) => featureOf(one.to)))
        if (!seen.has(to)) reached(to, seen.add(to));
      return seen;
    };
    expect(new Set(between.map(({ from }) => featureOf(from))).size).toBeGreaterThan(5);
    expect([...new Set(between.map(({ from }) => featureOf(from)))].filter((name) => reached(name).has(name))).toEqual(
      [],
    );
  });
  it("keeps in a session what follows from its place", () => {
    const ofPage = /^\.\/state\/(browser\/.*|team\/people|actions|connection|marks|runs|start|turns)\.ts$/;
    const shared = offenders(
      /^(export )?(const|let) \w+(: [^=]+)? = (signal|computed|effect|new Lru|new (Map|Set)(<.*>)?\(\))/m,
      below("state"),
    );
    expect(shared.filter((path) => !ofPage.test(path))).toEqual([]);
    expect(shared).toContain("./state/marks.ts");
  });
  it("names no address but its own", () => {
    // Every file of SVG begins with the name of its language, which nobody loads.
    expect(offenders(/https?:\/\/(?!www\.w3\.org\/2000\/svg")/)).toEqual([]);
  });
  it("says in each file what it owns", () => {
    expect(sources.filter(([, text]) => !text.startsWith("/**")).map(([path]) => path)).toEqual([]);
  });
  it("keeps files and lines short", () => {
    const long = files.filter(([, text]) => text.split("\n").some((line) => line.length > 120));
    expect(long.map(([path]) => path)).toEqual([]);
    expect(
      files
        .filter(([path, text]) => text.split("\n").length > (path.includes(".test.") ? 350 : 280))
        .map(([path]) => path),
    ).toEqual([]);
  });
});
