// The chosen colours, before the first paint. The key and its fields are those of src/state/browser/settings.ts.
try {
  const kept = JSON.parse(localStorage.getItem("rolloupe.settings") || "{}");
  if (kept.theme === "light" || kept.theme === "dark") document.documentElement.dataset.theme = kept.theme;
  if (kept.rewardColours === "safe") document.documentElement.dataset.reward = "safe";
} catch {
  // Storage is closed to this page, or holds something else: the colours of the system it is.
}
