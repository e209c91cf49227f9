// Walks pages in Firefox over WebDriver BiDi, and prints what went wrong as JSON, a list of strings a page.
//
//     node firefox.mjs FIREFOX LINK PATH...

import { createRequire } from "node:module";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { default: puppeteer } = await import(require.resolve("puppeteer-core"));
const [executablePath, link, ...paths] = process.argv.slice(2);

const browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true });
const wrong = {};
let faults = [];
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1440, height: 900 });
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (line) => {
    if (line.type() === "error") faults.push(`console: ${line.text()}`);
  });
  await page.goto(link);
  await page.waitForSelector("h1");
  for (const path of paths) {
    faults = wrong[path] = [];
    await page.goto(link.split("#")[0] + path);
    await page.waitForFunction(() => document.querySelector("h1") !== null && document.querySelector("[aria-busy=true]") === null && !/Loading|Opening/.test(document.body.innerText));
    faults.push(...(await page.evaluate(cut)));
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(wrong));

/** What is a little wider than its place: a scroll bar covers the rest. */
function cut() {
  return [...document.querySelectorAll("body, body *")]
    .filter((one) => /auto|scroll/.test(getComputedStyle(one).overflowX) && one.scrollWidth > one.clientWidth && one.scrollWidth < one.clientWidth + 40)
    .map((one) => `cut: ${one.outerHTML.slice(0, 120)}`);
}
