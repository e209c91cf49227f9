import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { licences } from "./licences.ts";

/** `npm run dev` serves the page and passes questions on to a server started with `rolloupe view RUN --no-token`. */
const SERVER = "http://127.0.0.1:8080";

const LIB = "src/lib/**/*.test.ts";
const LICENCES = "licenses.md";
const { worker, page } = licences(LICENCES);

/** Formats of numbers and of dates that uPlot makes as it loads and the page never uses: the first takes 20 ms. */
const UNUSED: readonly (readonly [code: string, instead: string])[] = [
  ["new Intl.NumberFormat(domEnv ? nav.language : 'en-US')", "{ format: String }"],
  ["new Intl.DateTimeFormat().resolvedOptions().timeZone", "undefined"],
];

const withoutFormats: Plugin = {
  name: "uplot-without-formats",
  transform(code, id) {
    if (!id.endsWith("/uPlot.esm.js")) return undefined;
    if (UNUSED.some(([unused]) => !code.includes(unused))) throw new Error("uPlot makes its formats in another way");
    return UNUSED.reduce((all, [unused, instead]) => all.replace(unused, instead), code);
  },
};

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
  plugins: [page, withoutFormats],
  worker: { format: "es", plugins: () => [worker] },
  server: { proxy: { "/api": { target: SERVER, changeOrigin: true } } },
  test: {
    // A process for each file would cost more than the tests. The page's files share a DOM, and `testing/setup.ts` gives each
    // fresh modules and an empty page; lib/ needs no DOM, and keeps nothing between two calls.
    projects: [
      { extends: true, test: { name: "lib", environment: "node", include: [LIB] } },
      {
        extends: true,
        test: {
          name: "page",
          environment: "happy-dom",
          setupFiles: ["src/testing/setup.ts"],
          include: ["src/**/*.test.{ts,tsx}"],
          exclude: [LIB],
        },
      },
    ],
    isolate: false,
    css: { include: /./, modules: { classNameStrategy: "non-scoped" } },
  },
});
