import { beforeEach, expect, it, vi } from "vitest";
import { logout, role, user } from "../../state/team/people";
import { drawn } from "../../testing/page";
import { SettingsPage } from "./SettingsPage";

beforeEach(() => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("no server")));
  user.value = "ada";
  role.value = "reader";
  logout.value = "";
});

it("leads to the end of a login, where the server has logins", async () => {
  const host = await drawn(<SettingsPage />);
  expect(host.textContent).toContain("You are ada, with the role reader");
  expect(host.textContent).toContain("stored on the server.");
  expect(host.querySelector("a")).toBe(null);
  logout.value = "https://rollouts.example/auth/logout";
  const again = await drawn(<SettingsPage />);
  expect(again.querySelector("a")?.getAttribute("href")).toBe(logout.value);
});
