import { expect, it, vi } from "vitest";
import * as api from "../../api";
import { isLocked, isSignedOut, unlock } from "./login";

vi.mock(import("../../api"), async (original) => ({ ...(await original()), login: vi.fn<typeof api.login>() }));

it("no longer says that the door is shut once the right token has opened it", async () => {
  isSignedOut.value = isLocked.value = true;
  vi.mocked(api.login).mockRejectedValueOnce(new api.ApiError(401, "not the token", ""));
  expect([await unlock("wrong"), isSignedOut.value, isLocked.value]).toEqual([false, true, true]);
  expect([await unlock("right"), isSignedOut.value, isLocked.value]).toEqual([true, false, false]);
});
