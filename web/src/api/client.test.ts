import { afterEach, describe, expect, it, vi } from "vitest";
import { address, ApiError, get, onLocked, post } from "./client";

function answering(reply: () => Response | Promise<Response>) {
  const fetchMock = vi.fn<(url: string, init: RequestInit) => Promise<Response>>(async () => reply());
  vi.stubGlobal("fetch", fetchMock);
  return fetchMock;
}

afterEach(() => vi.unstubAllGlobals());

describe("questions to the server", () => {
  it("keep every part of an address to itself", () => {
    const url = new URL(
      address(["runs", "../a b/?#", "sample"], { id: "eval%2Fx/1/g/0", whole: false, around: undefined }),
    );
    expect(url.pathname.endsWith("/api/runs/..%2Fa%20b%2F%3F%23/sample")).toBe(true);
    expect([...url.searchParams]).toEqual([
      ["id", "eval%2Fx/1/g/0"],
      ["whole", "0"],
    ]);
  });
  it("carry the header of the house when they change something", async () => {
    const fetchMock = answering(() => Response.json({ ok: true }));
    await post(["cache", "clear"], {});
    expect(fetchMock.mock.calls[0]?.[1]).toMatchObject({
      method: "POST",
      headers: { "x-rolloupe": "1", "content-type": "application/json" },
    });
  });
  it("fail with the server's own words", async () => {
    answering(() => Response.json({ error: "no such run", next: "Go back." }, { status: 404 }));
    await expect(get(["runs"])).rejects.toMatchObject({ status: 404, message: "no such run", next: "Go back." });
  });
  it("fail with ours where something else answers, or nothing", async () => {
    answering(() => new Response("<html>bad gateway", { status: 502 }));
    await expect(get(["runs"])).rejects.toMatchObject({ status: 502 });
    answering(() => new Response("half a {", { status: 200 }));
    await expect(get(["runs"])).rejects.toBeInstanceOf(ApiError);
    answering(() => Promise.reject(new TypeError("network")));
    await expect(get(["runs"])).rejects.toMatchObject({ status: 0 });
  });
  it("say when the token is wanted, but not when it was wrong", async () => {
    const locked = vi.fn<() => void>();
    onLocked(locked);
    answering(() => Response.json({ error: "this address needs the token", next: "" }, { status: 401 }));
    await expect(get(["runs"])).rejects.toMatchObject({ status: 401 });
    expect(locked).toHaveBeenCalledTimes(1);
    await expect(post(["login"], { token: "x" })).rejects.toMatchObject({ status: 401 });
    expect(locked).toHaveBeenCalledTimes(1);
  });
});
