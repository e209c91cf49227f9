/**
 * One view of a run: its place, and all stores that depend on it. Sessions share only the stores of the whole page: the
 * server's runs, the person's marks, settings, the login and the stream of events.
 */

import { effect } from "@preact/signals";
import { type Place, START } from "../lib/address/address";
import { GroupStore } from "./group";
import { BrowseStore } from "./list/browse";
import { JudgingStore } from "./judging";
import { FilterStore } from "./list/filter";
import { ListStore } from "./list/list";
import { PagesStore } from "./list/pages";
import { StripsStore } from "./list/strips";
import { PlaceStore } from "./place/place";
import { ViewStore } from "./place/view";
import { PromptStore } from "./prompt";
import { BriefStore } from "./run/brief";
import { ColumnsStore } from "./run/columns";
import { ChartsStore } from "./run/defaultCharts";
import { FindingsStore } from "./run/findings";
import { LayoutStore } from "./run/layout";
import { LiveStore } from "./run/live";
import { OverlaysStore } from "./run/overlays";
import { RangesStore } from "./run/ranges";
import { RunStore } from "./run/run";
import { StepsStore } from "./run/steps";
import { BlocksStore } from "./sample/blocks";
import { DifferencesStore } from "./sample/differences";
import { FindStore } from "./sample/find";
import { FoldsStore } from "./sample/folds";
import { HighlightsStore } from "./sample/highlights";
import { SampleStore } from "./sample/sample";
import { SearchStore } from "./search";
import { TokenAlternativesStore } from "./tokens/alternatives";
import { TokenLookStore } from "./tokens/look";
import { TokenMasksStore } from "./tokens/masks";
import { TokenSharesStore } from "./tokens/shares";
import { TokensStore } from "./tokens/tokens";
import { TokenUpdateStore } from "./tokens/update";
import { TokenWorstStore } from "./tokens/worst";

export class Session {
  readonly place: PlaceStore;
  readonly view = new ViewStore(this);
  readonly run = new RunStore(this);
  readonly steps = new StepsStore(this);
  readonly overlays = new OverlaysStore(this);
  readonly columns = new ColumnsStore(this);
  readonly ranges = new RangesStore(this);
  readonly live = new LiveStore(this);
  readonly brief = new BriefStore(this);
  readonly findings = new FindingsStore(this);
  readonly charts = new ChartsStore(this);
  readonly layout = new LayoutStore(this);
  readonly pages = new PagesStore(this);
  readonly list = new ListStore(this);
  readonly browse = new BrowseStore(this);
  readonly filter = new FilterStore(this);
  readonly strips = new StripsStore(this);
  readonly sample = new SampleStore(this);
  readonly prompt = new PromptStore(this);
  readonly blocks = new BlocksStore(this);
  readonly differences = new DifferencesStore(this);
  readonly highlights = new HighlightsStore(this);
  readonly find = new FindStore(this);
  readonly folds = new FoldsStore(this);
  readonly group = new GroupStore(this);
  readonly tokens = new TokensStore(this);
  readonly tokenLook = new TokenLookStore(this);
  readonly tokenMasks = new TokenMasksStore(this);
  readonly tokenUpdate = new TokenUpdateStore(this);
  readonly tokenShares = new TokenSharesStore(this);
  readonly tokenAlternatives = new TokenAlternativesStore(this);
  readonly tokenWorst = new TokenWorstStore(this);
  readonly search = new SearchStore(this);
  readonly judging = new JudgingStore(this);

  readonly #ends: (() => void)[] = [];

  constructor(at: Place) {
    this.place = new PlaceStore(this, at);
  }

  /** Run a function now, and again whenever a signal that it read changes, as long as the session lasts. */
  effect(work: () => void): void {
    this.#ends.push(effect(work));
  }

  /** Stop following signals. */
  end(): void {
    for (const work of this.#ends.splice(0)) work();
  }

  /** Drop all loaded data. */
  forget(): void {
    this.list.forget();
    this.steps.forget();
    this.sample.forget();
    this.tokens.forget();
  }
}

/** A session that begins at a place. It controls the address only once `place.start` ties it to the browser's. */
export function createSession(at: Place = START): Session {
  return new Session(at);
}
