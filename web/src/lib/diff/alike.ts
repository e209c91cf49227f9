/**
 * A longest common subsequence: Myers, "An O(ND) difference algorithm and its variations" (1986), in linear space. It
 * works in small steps, so that a page can do other work in between.
 */

/** For each element of a sequence, 1 if it is in both, else 0. */
export interface Alike {
  first: Uint8Array;
  second: Uint8Array;
}

type Numbers = Uint32Array;

/** A stretch of each sequence; the end is exclusive. */
interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Compare two sequences; the result is null if that takes longer than `limitMs`. */
export function* alike(
  first: readonly string[],
  second: readonly string[],
  limitMs: number,
): Generator<undefined, Alike | null> {
  const end = performance.now() + limitMs;
  // Comparing numbers takes a fraction of the time of comparing words.
  const numbers = new Map<string, number>();
  const search = new Search(numbered(first, numbers), numbered(second, numbers));
  const boxes: Box[] = [{ left: 0, right: first.length, top: 0, bottom: second.length }];
  for (let box = boxes.pop(); box !== undefined; box = boxes.pop()) {
    const { left, right, top, bottom } = search.withoutEnds(box);
    if (left === right || top === bottom) continue;
    const middle = search.middle({ left, right, top, bottom });
    let step = middle.next();
    for (; step.done !== true; step = middle.next()) {
      if (performance.now() >= end) return null;
      yield;
    }
    const [x, y] = step.value;
    boxes.push({ left, right: x, top, bottom: y }, { left: x, right, top: y, bottom });
  }
  early(search.first, search.result.first);
  early(search.second, search.result.second);
  return search.result;
}

/** Moves each difference as late as possible: of equal elements at its edges, the earlier ones count as common. */
function early(numbers: Numbers, flags: Uint8Array): void {
  let start = -1;
  flags.forEach((flag, at) => {
    if (flag === 0) start = start < 0 ? at : start;
    else if (start >= 0 && numbers[start] === numbers[at]) {
      flags[start] = 1;
      flags[at] = 0;
      start += 1;
    } else start = -1;
  });
}

/** Do all steps of some work. */
export function ended<T>(work: Generator<undefined, T>): T {
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}

const numbered = (words: readonly string[], numbers: Map<string, number>): Numbers =>
  Uint32Array.from(words, (word) => {
    const known = numbers.get(word) ?? numbers.size;
    numbers.set(word, known);
    return known;
  });

class Search {
  readonly result: Alike;
  /**
   * The furthest points of the paths from the start and from the end, by diagonal; `#zero` is the index of diagonal 0.
   */
  readonly #from: Int32Array;
  readonly #back: Int32Array;
  readonly #zero: number;

  constructor(
    readonly first: Numbers,
    readonly second: Numbers,
  ) {
    this.result = { first: new Uint8Array(first.length), second: new Uint8Array(second.length) };
    this.#zero = first.length + second.length + 1;
    this.#from = new Int32Array(2 * this.#zero + 1);
    this.#back = new Int32Array(2 * this.#zero + 1);
  }

  /** Mark equal elements at both ends of a box, and return the rest. */
  withoutEnds({ left, right, top, bottom }: Box): Box {
    const { first, second } = this;
    let [x, y, stopX, stopY] = [left, top, right, bottom];
    for (; x < stopX && y < stopY && first[x] === second[y]; x += 1, y += 1) this.#mark(x, y);
    for (; x < stopX && y < stopY && first[stopX - 1] === second[stopY - 1]; stopX -= 1, stopY -= 1)
      this.#mark(stopX - 1, stopY - 1);
    return { left: x, right: stopX, top: y, bottom: stopY };
  }

  #mark(x: number, y: number): void {
    this.result.first[x] = 1;
    this.result.second[y] = 1;
  }

  /** A point in the middle of a shortest path through a box, where the paths from both corners meet. */
  *middle(box: Box): Generator<undefined, readonly [number, number]> {
    const [width, height] = [box.right - box.left, box.bottom - box.top];
    this.#from[this.#zero + 1] = 0;
    this.#back[this.#zero + 1] = 0;
    for (let edits = 0; edits <= width + height; edits += 1) {
      const met = this.#onward(box, edits, false) ?? this.#onward(box, edits, true);
      if (met !== null) return met;
      yield;
    }
    throw new Error("two ways through a box always meet");
  }

  /** Extend every path by one edit; return the point where one meets a path from the other corner. */
  #onward(box: Box, edits: number, isBack: boolean): readonly [number, number] | null {
    const { first, second } = this;
    const zero = this.#zero;
    const { left, right, top, bottom } = box;
    const [width, height] = [right - left, bottom - top];
    const [own, other] = isBack ? [this.#back, this.#from] : [this.#from, this.#back];
    const apart = width - height;
    const canMeet = (apart % 2 !== 0) !== isBack;
    const reach = isBack ? edits : edits - 1;
    // Diagonals outside of the box are left out.
    const lowest = -(edits - 2 * Math.max(0, edits - height));
    const highest = edits - 2 * Math.max(0, edits - width);
    for (let diagonal = lowest; diagonal <= highest; diagonal += 2) {
      const [below, above] = [own[zero + diagonal - 1] ?? 0, own[zero + diagonal + 1] ?? 0];
      let x = diagonal === -edits || (diagonal !== edits && below < above) ? above : below + 1;
      let y = x - diagonal;
      if (isBack)
        while (x < width && y < height && first[right - 1 - x] === second[bottom - 1 - y]) {
          x += 1;
          y += 1;
        }
      else
        while (x < width && y < height && first[left + x] === second[top + y]) {
          x += 1;
          y += 1;
        }
      own[zero + diagonal] = x;
      const opposite = apart - diagonal;
      if (canMeet && Math.abs(opposite) <= reach && x + (other[zero + opposite] ?? 0) >= width)
        return isBack ? [right - x, bottom - y] : [left + x, top + y];
    }
    return null;
  }
}
