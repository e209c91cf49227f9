import { defineConfig } from "vitest/config";
import { licences } from "./licences.ts";

/** `npm run dev` serves the page and passes questions on to a server started with `rolloupe view RUN --no-token`. */
const SERVER = "http://127.0.0.1:8080";

const LIB = "src/lib/**/*.test.ts";
const LICENCES = "licenses.md";
const { worker, page } = licences(LICENCES);

export default defineConfig({
  // Addresses in the page are relative: the server names its --base-path in <base>.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2023",
    // Browsers that know light-dark() and oklch(); elsewhere every colour would be written four times.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // The policy of the page allows no data: addresses in scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: LICENCES },
  },
  plugins: [page],
  worker: { format: "es", plugins: () => [worker] },
  server: { proxy: { "/api": { target: SERVER, changeOrigin: true } } },
  test: {
    // What is in lib/ knows no page, which takes half a second to make for each file.
    projects: [
      { extends: true, test: { name: "lib", environment: "node", include: [LIB] } },
      { extends: true, test: { name: "page", environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"], exclude: [LIB] } },
    ],
    css: { include: /./, modules: { classNameStrategy: "non-scoped" } },
  },
});
