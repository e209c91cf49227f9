/**
 * A configuration as a searchable tree with foldable branches: dictionaries and lists are branches, the rest are
 * values.
 */

import { shown } from "./json";

export interface Twig {
  name: string;
  /** The value; empty for a branch. */
  text: string;
  /** Null for a value. */
  children: readonly Twig[] | null;
  isList: boolean;
  /** The number of values in it. */
  values: number;
}

/** Longer lists of plain values become branches. */
const LINE_CHARS = 100;
const LINE_VALUES = 50;

/** The tree of a value. */
export function treeOf(value: unknown, name = ""): Twig {
  if (typeof value !== "object" || value === null) return leaf(name, shown(value));
  const isList = Array.isArray(value);
  const members = Object.entries(value);
  if (members.length === 0) return leaf(name, isList ? "[]" : "{}");
  const line = isList ? lineOf(value) : null;
  if (line !== null) return leaf(name, line);
  const children = members.map(([key, member]) => treeOf(member, key));
  return { name, text: "", children, isList, values: children.reduce((sum, child) => sum + child.values, 0) };
}

/** Fewer values need no areas. */
const MANY_VALUES = 30;
/** As many values make an area. */
const LEAST_AREA = 3;

const areaOf = ({ name }: Twig): string => /^[^._/]+[._/]/.exec(name)?.[0] ?? "";

/** A flat configuration by areas: values whose names begin with the same word are in a branch, where the first was. */
export function byArea(tree: Twig): Twig {
  const leaves = (tree.children ?? []).filter(({ children }) => children === null);
  if (tree.isList || leaves.length < MANY_VALUES) return tree;
  const areas = new Map<string, Twig[]>();
  for (const twig of leaves) {
    const area = areas.get(areaOf(twig));
    if (area === undefined) areas.set(areaOf(twig), [twig]);
    else area.push(twig);
  }
  const children = (tree.children ?? []).flatMap((twig) => {
    const members = twig.children === null && areaOf(twig) !== "" ? (areas.get(areaOf(twig)) ?? []) : [];
    if (members.length < LEAST_AREA) return [twig];
    return twig === members[0]
      ? [{ name: `${areaOf(twig)}…`, text: "", children: members, isList: false, values: members.length }]
      : [];
  });
  return { ...tree, children };
}

const leaf = (name: string, text: string): Twig => ({ name, text, children: null, isList: false, values: 1 });

/** A short list of plain values as one line; null for anything else. */
function lineOf(list: readonly unknown[]): string | null {
  if (list.length > LINE_VALUES || list.some((one) => typeof one === "object" && one !== null)) return null;
  const line = JSON.stringify(list).replaceAll(",", ", ");
  return line.length <= LINE_CHARS ? line : null;
}

export interface Matches {
  /** The branches that lead to the first matches; null without matches. */
  tree: Twig | null;
  /** The number of matching values. */
  count: number;
}

/**
 * The values whose path or text contains every search word, with the branches that lead to them: at most `most` are in
 * the tree, all are counted. Without search words, the whole tree.
 */
export function matching(tree: Twig, text: string, most: number): Matches {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return { tree, count: tree.values };
  let count = 0;
  const within = (twig: Twig, way: string): Twig | null => {
    if (twig.children === null) {
      const label = `${way} ${twig.text.toLowerCase()}`;
      if (!words.every((word) => label.includes(word))) return null;
      count += 1;
      return count <= most ? twig : null;
    }
    const children: Twig[] = [];
    for (const child of twig.children) {
      const result = within(child, way === "" ? child.name.toLowerCase() : `${way}.${child.name.toLowerCase()}`);
      if (result !== null) children.push(result);
    }
    return children.length === 0
      ? null
      : { ...twig, children, values: children.reduce((sum, child) => sum + child.values, 0) };
  };
  const matches = within(tree, "");
  return { tree: matches, count };
}
