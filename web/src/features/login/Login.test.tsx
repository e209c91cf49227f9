import { describe, expect, it } from "vitest";
import { tokenIn } from "./Login";

describe("what is pasted at the door", () => {
  it("may be the token or the link that ends in it", () => {
    expect(tokenIn("  abc-_1 ")).toBe("abc-_1");
    expect(tokenIn("http://127.0.0.1:8080/#token=a%2Bb")).toBe("a+b");
    expect(tokenIn("Rolloupe is at http://h:1/x/#token=abc  (Ctrl-C ends it)")).toBe("abc");
    expect(tokenIn("http://h/#token=%")).toBe("%");
  });
});
