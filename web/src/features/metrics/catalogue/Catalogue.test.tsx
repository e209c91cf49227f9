import { expect, it } from "vitest";
import type { CatalogueEntry } from "../../../api/types.gen";
import { START } from "../../../lib/address/address";
import { createSession } from "../../../state/session";
import { catalogueEntry } from "../../../testing/catalogue";
import { button, draw, drawn, settled } from "../../../testing/page";
import { Catalogue } from "./Catalogue";
import { type Layout, layoutOf } from "../choice";

const entry = (section: string, name: string): CatalogueEntry => ({
  ...catalogueEntry("trainer", name),
  title: name,
  section,
});
const ENTRIES = [entry("Loss", "grad"), entry("Loss", "kl"), entry("Loss", "pg"), entry("Time", "roll")];

const layoutWith = (...names: string[]): Layout => ({
  ...layoutOf(createSession(), ENTRIES),
  has: ({ name }) => names.includes(name),
});

const namesIn = (host: HTMLElement): string[] => [...host.querySelectorAll("label")].map((one) => one.textContent);

it("lists what has a chart, with the rest of its section behind a button; other sections are closed", async () => {
  const session = createSession();
  const host = await drawn(<Catalogue entries={ENTRIES} layout={layoutWith("kl")} leftOut={0} />, session);
  expect(namesIn(host)).toEqual(["kl"]);
  draw(<Catalogue entries={ENTRIES} layout={layoutWith()} leftOut={0} />, host, session);
  expect(namesIn(host), "what lost its chart stays where it is").toEqual(["kl"]);
  button(host, "2 more").click();
  await settled();
  expect(namesIn(host)).toEqual(["kl", "grad", "pg"]);
});

it("opens all sections, in their own order, for a search", async () => {
  const session = createSession();
  session.place.now.value = { ...START, page: "metrics", ask: { find: "r|k" } };
  const host = await drawn(<Catalogue entries={ENTRIES} layout={layoutWith("kl")} leftOut={0} />, session);
  expect(namesIn(host)).toEqual(["grad", "kl", "roll"]);
});
