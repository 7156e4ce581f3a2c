import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const SEEN_TOUR = `localStorage["perpd.settings"] ??= '{"hasSeenTour":true}';`;

/** A tab whose console errors, uncaught errors and violations of the security policy fail the test. */
export class Tab {
  readonly page: Page;
  readonly faults: string[] = [];
  /** Errors that the test causes itself, such as a lost connection. */
  expected: RegExp | null = null;

  private constructor(page: Page) {
    this.page = page;
    const note = (fault: string): void => {
      if (this.expected?.test(fault) !== true) this.faults.push(fault);
    };
    page.on("console", (message) => message.type() === "error" && note(message.text()));
    page.on("pageerror", (error) => note(`uncaught: ${error.stack ?? error.message}`));
  }

  /**
   * Each tab is a browser of its own, with its own storage; those that are opened in a context share it. `init` prepares
   * the page before its first script runs. `isFirstVisit`: the browser has not seen the tour yet.
   */
  static async open(
    browser: Pick<Browser, "newPage">,
    url: string,
    { init, isFirstVisit }: { init?: (page: Page) => Promise<void>; isFirstVisit?: boolean } = {},
  ): Promise<Tab> {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await init?.(page);
    await page.addInitScript({ content: AXE });
    await page.addInitScript({
      content: `addEventListener("securitypolicyviolation", (event) =>
        console.error("CSP report: " + event.violatedDirective + " " + event.blockedURI + " " + event.sourceFile));`,
    });
    // The tour would lie over what a test clicks.
    if (isFirstVisit !== true) await page.addInitScript({ content: SEEN_TOUR });
    const tab = new Tab(page);
    await page.goto(url);
    return tab;
  }

  /** Gives the window another size, in CSS pixels, and waits until the page has been told and has drawn itself in it. */
  async resize(width: number, height: number): Promise<void> {
    await this.page.setViewportSize({ width, height });
    await this.page.waitForFunction(`innerWidth === ${width} && innerHeight === ${height}`);
    // A page hears of its size before the next frame's callbacks; the second frame follows what they have changed.
    await this.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  }

  /** Fails when something was written to the console, or a policy was violated, since the page was opened. */
  assertClean(): void {
    assert.deepEqual(this.faults, []);
  }

  /** The rules of axe-core that the page violates, with the elements. */
  async axe(): Promise<string[]> {
    const { violations } = (await this.page.evaluate("axe.run()")) as {
      violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[];
    };
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target} ${node.failureSummary}`));
  }
}
