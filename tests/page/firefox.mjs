// Walks pages in Firefox over WebDriver BiDi, and prints what went wrong as JSON, a list of strings a page.
//
//     node firefox.mjs FIREFOX LINK PATH...

import { createRequire } from "node:module";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { default: puppeteer } = await import(require.resolve("puppeteer-core"));
const [executablePath, link, ...paths] = process.argv.slice(2);

// Without a viewport of Puppeteer's own: Firefox ESR does not know all the commands that set one.
const args = ["--width=1440", "--height=900"];
const browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true, args, defaultViewport: null });
const wrong = {};
let faults = [];
try {
  const page = await browser.newPage();
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (line) => {
    if (line.type() === "error") faults.push(`console: ${line.text()}`);
  });
  await page.goto(link);
  await page.waitForSelector("h1");
  for (const path of paths) {
    faults = wrong[path] = [];
    await page.goto(link.split("#")[0] + path);
    while (!(await page.evaluate(isReady))) await new Promise((done) => setTimeout(done, 50));
    faults.push(...(await page.evaluate(cut)));
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(wrong));

/** Whether the page shows all that it is about to; asked again and again, as waiting in the page would need `eval`. */
function isReady() {
  const isLoading = document.querySelector("[aria-busy=true]") !== null || /Loading|Opening|comparing the two/.test(document.body.innerText);
  return document.querySelector("h1") !== null && !isLoading;
}

/** What is a little wider than its place: a scroll bar covers the rest. */
function cut() {
  return [...document.querySelectorAll("body, body *")]
    .filter((one) => /auto|scroll/.test(getComputedStyle(one).overflowX) && one.scrollWidth > one.clientWidth && one.scrollWidth < one.clientWidth + 40)
    .map((one) => `cut: ${one.outerHTML.slice(0, 120)}`);
}
