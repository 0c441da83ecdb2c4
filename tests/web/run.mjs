// Trains a page in headless Chromium on its software WebGPU adapter, and prints what came of it as JSON.
//   node run.mjs PAGE.html STEPS [SCREENSHOT.png]
// With STEPS 0 it only opens the page. FORI_WEB_WITHOUT takes something from it: webgpu, adapter, or https (it comes over http).
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(process.env.FORI_WEB_MODULES + "/")("playwright-core");
const [file, steps, screenshot] = process.argv.slice(2);
const without = process.env.FORI_WEB_WITHOUT;
const browser = await chromium.launch({
  executablePath: process.env.FORI_CHROMIUM || "/usr/bin/chromium",
  args: [
    "--headless=new",
    "--no-sandbox",
    ...(without ? [] : ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]),
  ],
});
const page = await browser.newPage();
const messages = [];
page.on("console", (message) => ["error", "warning"].includes(message.type()) && messages.push(message.text()));
page.on("pageerror", (error) => messages.push(String(error)));
if (without === "webgpu") await page.addInitScript(() => delete Navigator.prototype.gpu);
await page.route("http://fori.test/", (route) => route.fulfill({ path: file, contentType: "text/html" }));
await page.goto(without === "https" ? "http://fori.test/" : pathToFileURL(file).href);
await page.evaluate(() => window.fori.ready);
if (Number(steps) > 0) await train(Number(steps));
if (screenshot) await page.screenshot({ path: screenshot, fullPage: true });
const result = await page.evaluate(() => ({
  losses: Array.from(window.fori.losses || []),
  steps: window.fori.step,
  trouble: document.getElementById("trouble").textContent,
  adapter: document.getElementById("adapter").textContent,
  shown: document.body.innerText,
}));
await browser.close();
console.log(JSON.stringify({ ...result, messages }));

async function train(steps) {
  await page.click("#start");
  const done = (n) => window.fori.step >= n || document.getElementById("trouble").textContent !== "";
  await page.waitForFunction(done, steps, { timeout: 300000 });
  await page.evaluate(() => window.fori.running && window.fori.pause());
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#download")]);
  await download.saveAs(`${file}.safetensors`);
}
