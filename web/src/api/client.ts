/** Requests to the server. Only this folder knows HTTP; nothing else calls `fetch`. */

import { eachLine, keyHeader } from "./stream";
import type { ErrorReply, TicketReply } from "./types.gen";

/** A failed request: what failed and what to do next, in words of the server or of the page. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  /** `status` 0: the server did not answer. */
  constructor(
    readonly status: number,
    message: string,
    readonly next: string,
    /** The whole answer, if it was JSON: it may hold more than the sentence. */
    readonly body: unknown = null,
    /** The place of an error in a filter. */
    readonly place: number | null = null,
  ) {
    super(message);
  }
}

type Asked = RequestInit & { headers?: Record<string, string> };
type Send = (url: string, init: Asked) => Promise<Response>;

let send: Send = async (url, { headers, ...init }) =>
  fetch(url, { credentials: "same-origin", ...init, headers: { ...headers, ...keyHeader(pageKey()) } });

/** Answers all requests with a function instead of a server, as a report does. */
export function answerWith(answers: Send): void {
  send = answers;
  alone = true;
}

let alone = false;

/** True for a page without a server: it knows only its own samples. */
export const isAlone = (): boolean => alone;

let locked: () => void = () => undefined;

/** Set the function to call when the server asks for its token. */
export function onLocked(listener: () => void): void {
  locked = listener;
}

type Plain = string | number | boolean;
/** A list repeats its name, once for each value. */
type Query = Record<string, Plain | readonly Plain[] | undefined>;

/** The address of a route. Only this function encodes the parts of `path`. */
export function address(path: readonly string[], query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    const values = value === undefined ? [] : typeof value === "object" ? value : [value];
    return values.map((one) => [name, plain(one)]);
  });
  const text = new URLSearchParams(pairs).toString();
  const route = ["api", ...path.map(encodeURIComponent)].join("/");
  return new URL(text === "" ? route : `${route}?${text}`, document.baseURI).href;
}

/** Request a reply, until `signal` ends that; `path` may be a complete address. Throws `ApiError`. */
export async function get<T>(path: readonly string[] | string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return answered<T>(typeof path === "string" ? path : address(path, query), {
    headers: { accept: "application/json" },
    ...(signal && { signal }),
  });
}

/** Request a binary reply, until `signal` ends that. Throws `ApiError`. */
export async function bytes(path: readonly string[], query: Query = {}, signal?: AbortSignal): Promise<ArrayBuffer> {
  const headers = { accept: "application/octet-stream" };
  return (await replied(address(path, query), { headers, ...(signal && { signal }) })).arrayBuffer();
}

/** Request an image. Throws `ApiError`. */
export const blob = async (path: readonly string[], query: Query): Promise<Blob> =>
  (await replied(address(path, query), { headers: { accept: "image/*" } })).blob();

/** Request a change. Throws `ApiError`. */
export async function post<T>(path: readonly string[], body: unknown): Promise<T> {
  const headers = { accept: "application/json", "content-type": "application/json", "x-rolloupe": "1" };
  return answered<T>(address(path), { method: "POST", headers, body: JSON.stringify(body) });
}

/**
 * An address with a ticket, which opens once, within a minute: browsers send no header with a download. Null if the
 * server asks for its token.
 */
export async function ticketed(url: string): Promise<string | null> {
  if (pageKey() === "") return url;
  try {
    const { ticket } = await post<TicketReply>(["ticket"], { address: `/${url.slice(document.baseURI.length)}` });
    return `${url}${url.includes("?") ? "&" : "?"}ticket=${ticket}`;
  } catch (error) {
    return error instanceof ApiError && error.status === 401 ? null : url; // a team's server has no tickets
  }
}

let lastKey = "";

/** Name of this page's key in the storage of its origin, which other ports cannot read, unlike its cookies. */
const keyPlace = (): string => `rolloupe.key${new URL(document.baseURI).pathname}`;

/** The key that the login gave; empty without one. */
export function pageKey(): string {
  try {
    return localStorage.getItem(keyPlace()) ?? lastKey;
  } catch {
    return lastKey; // the storage is closed: the key lasts until the page is left
  }
}

export function keepKey(key: string): void {
  lastKey = key;
  try {
    localStorage.setItem(keyPlace(), key);
  } catch {
    // the storage is closed
  }
}

/** True if the server refuses an address because the token is missing. Calls no function that shows the login. */
export async function isRefused(url: string): Promise<boolean> {
  try {
    return (await send(url, { method: "HEAD" })).status === 401;
  } catch {
    return false;
  }
}

/** Request a stream of lines, and pass on each record when it arrives. Ends on `signal`, or throws `ApiError`. */
export async function lines<T>(
  path: readonly string[],
  body: unknown,
  signal: AbortSignal,
  hear: (record: T) => void,
): Promise<void> {
  const headers = { accept: "application/x-ndjson", "content-type": "application/json", "x-rolloupe": "1" };
  try {
    const reply = await send(address(path), { method: "POST", headers, body: JSON.stringify(body), signal });
    if (reply.status === 401) locked();
    if (!reply.ok || reply.body === null) throw await refusal(reply);
    await eachLine(reply.body, (line) => hear(JSON.parse(line) as T));
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof ApiError) throw error;
    throw new ApiError(
      0,
      "The server does not answer.",
      "Check that `rolloupe view` is still running and that the connection is up.",
    );
  }
}

function plain(value: Plain): string {
  return typeof value === "boolean" ? (value ? "1" : "0") : String(value);
}

async function answered<T>(url: string, init: Asked): Promise<T> {
  const reply = await replied(url, init);
  try {
    const answer: unknown = await reply.json();
    if (typeof answer === "object" && answer !== null && !Array.isArray(answer)) return answer as T;
  } catch {
    // the error below says it
  }
  throw new ApiError(reply.status, "The answer is incomplete, or did not come from this server.", "Try again.");
}

async function replied(url: string, init: Asked): Promise<Response> {
  let reply: Response;
  try {
    reply = await send(url, init);
  } catch {
    throw new ApiError(
      0,
      "The server does not answer.",
      "Check that `rolloupe view` is still running and that the connection is up.",
    );
  }
  if (reply.status === 401 && !url.endsWith("/api/login")) locked();
  if (!reply.ok) throw await refusal(reply);
  return reply;
}

async function refusal(reply: Response): Promise<ApiError> {
  try {
    const words = (await reply.json()) as Partial<ErrorReply>;
    if (typeof words.error === "string")
      return new ApiError(reply.status, words.error, words.next ?? "", words, words.place ?? null);
  } catch {
    // A proxy answered: the error below has its status.
  }
  return new ApiError(reply.status, `The server answered ${reply.status} ${reply.statusText}`.trim(), "Try again.");
}
