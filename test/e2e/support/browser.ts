import { existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { type Browser, chromium } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The path of the program; null where none is installed. */
export const CHROMIUM = [process.env.CHROMIUM ?? "", ...PLACES].find((path) => existsSync(path)) ?? null;

/** Without Chromium's own sandbox, which refuses to run as root and in most containers. Pages keep their security policy. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM ?? "", chromiumSandbox: false });

const CLIENT = fileURLToPath(new URL("../../../src/client/index.js", import.meta.url));

/** `perpd/client` as a script that sets the global `perpd`. Rejects when the bundler has anything to say. */
export async function bundleClient(): Promise<string> {
  const { outputFiles, warnings } = await build({
    entryPoints: [CLIENT],
    bundle: true,
    platform: "browser",
    format: "iife",
    globalName: "perpd",
    write: false,
    logLevel: "silent",
  });
  if (warnings.length > 0) throw new Error(warnings.map(({ text }) => text).join("\n"));
  return outputFiles[0].text;
}

/** A web site of an origin of its own. */
export interface Site {
  readonly origin: string;
  /** The origin that its pages may ask, besides their own: their Content-Security-Policy has no others. */
  exchange: string;
  close(): void;
}

/** A site with an empty page, which runs the script. */
export async function openSite(script: string): Promise<Site> {
  const server: Server = createServer((request, response) => {
    const { exchange } = site;
    const policy = `default-src 'none'; script-src 'self'; connect-src ${exchange} ${exchange.replace("http", "ws")}`;
    const isScript = request.url === "/client.js";
    response.setHeader("Content-Security-Policy", policy);
    response.setHeader("Content-Type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : '<!doctype html><title>a page</title><script src="/client.js"></script>');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const site: Site = {
    origin: `http://127.0.0.1:${port}`,
    exchange: "",
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return site;
}
