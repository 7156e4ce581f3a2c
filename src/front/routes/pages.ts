import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Call } from "../http/call.ts";
import { type Encodings, replyEncoded } from "../http/encodings.ts";

// The pages for browsers: the trading terminal at /, and the operator's console. src/terminal/build.mjs makes the files.

export const CONSOLE_PATH = "/operator";

/** Seen from the built file. */
const BUILT = fileURLToPath(new URL("../../../terminal/", import.meta.url));

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  txt: "text/plain; charset=utf-8",
};

/** Nothing comes from other hosts, and no text becomes code or markup. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The pages use none of them, so a script that gets in cannot either. */
const PERMISSIONS_POLICY = ["camera", "display-capture", "geolocation", "microphone", "payment", "usb"]
  .map((feature) => `${feature}=()`)
  .join(", ");

interface File {
  readonly contentType: string;
  /** Quoted, as in the header. Null: its name changes with its content. */
  readonly etag: string | null;
  readonly encodings: Encodings;
}

/** The built files, in memory. Empty when they were not built. */
export class Pages {
  private readonly files = new Map<string, File>();

  constructor() {
    if (!existsSync(BUILT)) return;
    for (const name of readdirSync(BUILT, { recursive: true, encoding: "utf8" })) {
      const extension = name.slice(name.lastIndexOf(".") + 1);
      const contentType = CONTENT_TYPES[extension];
      if (contentType === undefined) continue;
      const plain = readFileSync(BUILT + name);
      const isPage = extension === "html";
      this.files.set(isPage ? pagePath(name) : `/${name.replaceAll("\\", "/")}`, {
        contentType,
        etag: isPage ? `"${createHash("sha256").update(plain).digest("hex").slice(0, 16)}"` : null,
        encodings: [
          ["br", readFileSync(`${BUILT}${name}.br`)],
          ["gzip", readFileSync(`${BUILT}${name}.gz`)],
          ["", plain],
        ],
      });
    }
  }

  /** Whether it is a request for one of the files. */
  has(call: Call): boolean {
    return (call.method === "GET" || call.method === "HEAD") && this.files.has(call.path);
  }

  /** Only when has() is true. */
  answer(call: Call): void {
    const { contentType, etag, encodings } = this.files.get(call.path)!;
    call.header("Cache-Control", etag === null ? "public, max-age=31536000, immutable" : "no-cache");
    call.header("Vary", "Accept-Encoding");
    call.header("X-Content-Type-Options", "nosniff");
    call.header("Referrer-Policy", "no-referrer");
    if (etag !== null) {
      call.header("ETag", etag);
      call.header("Content-Security-Policy", CONTENT_SECURITY_POLICY);
      call.header("Permissions-Policy", PERMISSIONS_POLICY);
      call.header("Cross-Origin-Opener-Policy", "same-origin");
      if (call.ifNoneMatch.includes(etag)) return call.reply(304, "", contentType);
    }
    replyEncoded(call, encodings, contentType);
  }
}

/** index.html → /; operator.html → /operator. */
const pagePath = (name: string): string => `/${name === "index.html" ? "" : name.replace(/\.html$/, "")}`;
