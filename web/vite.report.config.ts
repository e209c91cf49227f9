/** The report: one script and one sheet that Python writes into a file together with the samples. */

import { defineConfig, type Plugin } from "vite";

/** A file opened from a disk cannot start a worker, and a report shows texts as they are. */
const noWorkers: Plugin = {
  name: "no-workers",
  enforce: "pre",
  load: (id) => (id.endsWith("?worker&url") ? 'export default ""' : null),
};

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // A module would keep its spaces and lines, since a bundler may still read it.
  define: { "process.env.NODE_ENV": '"production"', "import.meta.url": "location.href" },
  build: {
    target: "es2023",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    outDir: "dist/report",
    copyPublicDir: false,
    license: { fileName: "licenses.md" },
    lib: {
      entry: "src/report/main.tsx",
      formats: ["iife"],
      name: "report",
      fileName: () => "report.js",
      cssFileName: "report",
    },
  },
  plugins: [noWorkers],
});
