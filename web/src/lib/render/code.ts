/** Highlighted code, in the language that its fence names: guessing languages is slow and often wrong. */

import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import haskell from "highlight.js/lib/languages/haskell";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import julia from "highlight.js/lib/languages/julia";
import kotlin from "highlight.js/lib/languages/kotlin";
import latex from "highlight.js/lib/languages/latex";
import lua from "highlight.js/lib/languages/lua";
import makefile from "highlight.js/lib/languages/makefile";
import matlab from "highlight.js/lib/languages/matlab";
import ocaml from "highlight.js/lib/languages/ocaml";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import pythonRepl from "highlight.js/lib/languages/python-repl";
import r from "highlight.js/lib/languages/r";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import scala from "highlight.js/lib/languages/scala";
import shell from "highlight.js/lib/languages/shell";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import verilog from "highlight.js/lib/languages/verilog";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import { element, type Node } from "./tree";

const lowlight = createLowlight({
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  go,
  haskell,
  ini,
  java,
  javascript,
  json,
  julia,
  kotlin,
  latex,
  lua,
  makefile,
  matlab,
  ocaml,
  php,
  python,
  "python-repl": pythonRepl,
  r,
  ruby,
  rust,
  scala,
  shell,
  sql,
  swift,
  typescript,
  verilog,
  xml,
  yaml,
});

/** Longer code stays plain. */
const MAX_CODE = 40_000;

/** The classes with a colour here, out of the many that highlight.js knows. */
const KINDS: Readonly<Record<string, string>> = {
  keyword: "keyword",
  "selector-tag": "keyword",
  literal: "literal",
  number: "literal",
  symbol: "literal",
  string: "string",
  regexp: "string",
  char: "string",
  comment: "comment",
  doctag: "comment",
  quote: "comment",
  title: "title",
  section: "title",
  name: "title",
  built_in: "type",
  type: "type",
  class: "type",
  attr: "attr",
  attribute: "attr",
  property: "attr",
  variable: "attr",
  params: "attr",
  meta: "meta",
  addition: "addition",
  deletion: "deletion",
};

interface Hast {
  type: string;
  value?: string;
  properties?: { className?: unknown };
  children?: Hast[];
}

/** A block of code: the language that its fence names, and its text, highlighted if that language is known here. */
export function codeBlock(text: string, info: string, isColoured: boolean): Node {
  const language = info.trim().split(/[\s{,]/, 1)[0] ?? "";
  const code = element("code", isColoured ? coloured(text, language) : [text]);
  const label = info.trim() === "" ? [] : [element("small", [info.trim()])];
  return element("pre", [...label, code]);
}

function coloured(text: string, language: string): Node[] {
  const name = language.toLowerCase();
  if (name === "" || text.length > MAX_CODE || !lowlight.registered(name)) return [text];
  try {
    return (lowlight.highlight(name, text) as Hast).children?.map(converted) ?? [text];
  } catch {
    return [text];
  }
}

function converted(node: Hast): Node {
  if (node.type === "text") return node.value ?? "";
  const inner = (node.children ?? []).map(converted);
  const names = Array.isArray(node.properties?.className) ? node.properties.className.map(String) : [];
  const kind = names
    .map((name) => KINDS[name.replace(/^hljs-/, "").replace(/_$/, "")])
    .find((one) => one !== undefined);
  return kind === undefined ? element("span", inner) : element("span", inner, { class: kind });
}
