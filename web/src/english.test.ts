/** Phrases that no person should read: nobody acts in them, or they say less than they take. */

import { describe, expect, it } from "vitest";

const sources = Object.entries(
  import.meta.glob<string>("./**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true }),
).filter(([path]) => !path.includes(".test.") && !path.endsWith(".gen.ts"));

const AVOIDED = [
  /\b(is|are|was|were) (told|said)\b/,
  /\bof that which\b/,
  /\bgone on\b/,
  /\bis none\b/,
  /\bby itself\b/,
  /\bis to stay\b/,
  /\bcalled so\b/,
  /\bfrom which on\b/,
  /\b(What|what) (is|was) (kept|told|said|known|marked|not trained on|wanted)\b/,
  /\bis looked at\b/,
  /\blook whether\b/i,
  /\bmeanwhile\b/,
  /\bturn round\b/,
  /\bfulfils\b/,
  /\bhere again\b/,
];

/** The strings of a source, and the text between its tags: what may be read on the page. */
function words(text: string): string {
  const code = text.replace(/\/\*[\s\S]*?\*\/|(?<![:"'`\w])\/\/.*$/gm, "");
  const strings = [...code.matchAll(/"([^"\n]*)"|`([^`]*)`/g)].map(([, one, other]) => one ?? other ?? "");
  const between = [...code.matchAll(/>([^<>{}=;()]*[A-Za-z][^<>{}=;()]*)[<{]/g)].map(([, one = ""]) => one);
  return [...strings, ...between].join("\n").replace(/[ \t]+/g, " ");
}

describe("what the page says", () => {
  it("is looked through", () => {
    const all = sources.map(([, text]) => words(text)).join("\n");
    expect(all).toContain("Find a key or a value");
    expect(all).toMatch(/can be saved|cannot be saved/i);
    expect(words("<p>\n  There are more than are told here.\n</p>")).toMatch(AVOIDED[0] ?? /never/);
  });
  it.each(AVOIDED.map((phrase) => [phrase.source, phrase] as const))("never says %s", (_, phrase) => {
    const hits = sources.flatMap(([path, text]) => {
      const line = words(text)
        .split("\n")
        .find((one) => phrase.test(one));
      return line === undefined ? [] : [`${path}: ${line.trim()}`];
    });
    expect(hits).toEqual([]);
  });
});
