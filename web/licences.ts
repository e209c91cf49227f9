/** Vite lists the licences of what the page contains; those of what its workers contain and of its font follow here. */

import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

const FONT = join(import.meta.dirname, "src/styles/inter/LICENSE.txt");
const PACKAGE = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/;

/** A plugin for the bundles of workers, which notes their packages, and one for the page's, which writes them down. */
export function licences(fileName: string): { worker: Plugin; page: Plugin } {
  const folders = new Set<string>();
  return {
    worker: {
      name: "licences-of-workers",
      generateBundle(_, bundle) {
        for (const chunk of Object.values(bundle)) {
          for (const id of chunk.type === "chunk" ? chunk.moduleIds : []) {
            const folder = PACKAGE.exec(id)?.[0];
            if (folder !== undefined && !id.startsWith("\0")) folders.add(folder);
          }
        }
      },
    },
    page: {
      name: "licences-of-page",
      writeBundle({ dir = "" }) {
        const font = `\n## Inter (OFL-1.1)\n\n${readFileSync(FONT, "utf8").trim()}\n`;
        appendFileSync(join(dir, fileName), [...folders].toSorted().map(entry).join("") + font);
      },
    },
  };
}

function entry(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    name: string;
    version: string;
    license: string;
  };
  const file = readdirSync(folder).find((one) => /^(?:licen[cs]e|copying)/i.test(one));
  if (file === undefined) throw new Error(`${name} has no file with its licence`);
  return `\n## ${name} - ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
}
