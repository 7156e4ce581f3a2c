import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { brotliDecompress, gzip } from "node:zlib";
import Type, { type TSchema } from "../../packages/typebox.ts";
import { type Cost, CPU_COST, PAGE_COST } from "../auth/limits.ts";
import { BASE_PATH } from "../common/paths.ts";
import { asyncApiDocument, DEFAULT_SERVER, type SocketServer, withServer } from "../documents/asyncapi.ts";
import { openApiDocument } from "../documents/openapi.ts";
import type { Call } from "../http/call.ts";
import { type Encodings, replyEncoded } from "../http/encodings.ts";
import { get, type Route } from "../routing/route.ts";

// The interactive reference: Scalar. It loads nothing from other hosts.

/** Below BASE_PATH. */
const DOCS_PATH = "/docs";
const SCRIPT_PATH = `${DOCS_PATH}/scalar.js`;

const CONFIGURATION = {
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  documentDownloadType: "json",
  operationTitleSource: "path",
  defaultOpenAllTags: false,
  persistAuth: false,
  authentication: { preferredSecurityScheme: "session" },
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
};

/** Scalar needs inline styles. Everything else comes from this host, and only Scalar's script may run. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const REFERENCE_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>perpd API</title>
<link rel="icon" href="data:,">
</head>
<body>
<noscript>The reference needs JavaScript. It shows these documents: <a href="${BASE_PATH}/openapi.json">openapi.json</a>
and <a href="${BASE_PATH}/asyncapi.json">asyncapi.json</a>.</noscript>
<div id="api-reference" data-url="${BASE_PATH}/openapi.json" data-configuration="${attribute(CONFIGURATION)}"></div>
<script src="${BASE_PATH}${SCRIPT_PATH}"></script>
</body>
</html>
`;

function attribute(value: object): string {
  return JSON.stringify(value).replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}

/**
 * Scalar's own bundle for browsers, as brotli. Seen from the built file. The repository has it, because Scalar's package
 * would install 386 others that perpd does not use.
 */
const REFERENCE_SCRIPT = new URL("../../../../src/vendor/scalar-api-reference/standalone.js.br", import.meta.url);

const compress = promisify(gzip);
const decompress = promisify(brotliDecompress);

/** Calls `make` at the first use and keeps its result. A failed call is repeated at the next use. */
function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make().catch((thrown) => {
      made = null;
      throw thrown;
    });
    return made;
  };
}

const JSON_TYPE = "application/json";

/** Compressed once, in the thread pool of Node.js. */
async function contentOf(text: string | Buffer): Promise<Encodings> {
  const plain = Buffer.from(text);
  return [
    ["gzip", await compress(plain)],
    ["", plain],
  ];
}

/** A name or an address, and a port. */
const HOST = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(:[0-9]{1,5})?$/i;
/** A client may send any host, so only the documents for the first ones are compressed, and kept. */
const MAX_KEPT_SERVERS = 8;

/** The server as the client has called it. A Host header that names no host says nothing. */
const serverOf = (call: Call): SocketServer => ({
  host: HOST.test(call.host) ? call.host.toLowerCase() : DEFAULT_SERVER.host,
  protocol: call.isSecure() ? "wss" : "ws",
});

/** The content of `text`, an asyncApiDocument(), for the server that a call names. */
function contentByServer(text: () => string): (call: Call) => Promise<Encodings> {
  const kept = new Map<string, () => Promise<Encodings>>();
  return async (call) => {
    const server = serverOf(call);
    const name = `${server.protocol}://${server.host}`;
    let content = kept.get(name);
    if (content === undefined) {
      if (kept.size === MAX_KEPT_SERVERS) return [["", Buffer.from(withServer(text(), server))]];
      content = lazy(() => contentOf(withServer(text(), server)));
      kept.set(name, content);
    }
    return content();
  };
}

async function referenceScript(): Promise<Encodings> {
  const compressed = await readFile(REFERENCE_SCRIPT);
  return [["br", compressed], ...(await contentOf(await decompress(compressed)))];
}

/** A document. */
interface Page {
  readonly summary: string;
  readonly reply: TSchema;
  readonly contentType: string;
  readonly cost?: Cost;
  /** Default: a browser asks again each time. */
  readonly maxAgeSeconds?: number;
  read(call: Call): Promise<Encodings>;
}

interface Documents {
  readonly routes: Route[];
  /**
   * Makes the texts. A server does so at its start: it takes so long that a request would delay others. Readers of the
   * declarations do not need the texts.
   */
  prepare(): void;
}

/** The documents that describe `routes`, and themselves. `version`: of the program. */
export function documentRoutes(routes: readonly Route[], version: string): Documents {
  const anyObject = (description: string) => Type.Object({}, { description, additionalProperties: true });
  const documents = [
    page("/openapi.json", {
      summary: "This document: the REST API",
      reply: anyObject("OpenAPI 3.1."),
      contentType: JSON_TYPE,
      cost: PAGE_COST,
      read: lazy(() => contentOf(openApi())),
    }),
    page("/asyncapi.json", {
      summary: "The WebSocket API",
      reply: anyObject("AsyncAPI 3.0."),
      contentType: JSON_TYPE,
      cost: PAGE_COST,
      read: contentByServer(asyncApi),
    }),
    page(DOCS_PATH, {
      summary: "The interactive reference",
      reply: Type.String({ description: "A page for browsers." }),
      contentType: "text/html; charset=utf-8",
      read: lazy(() => contentOf(REFERENCE_PAGE)),
    }),
    page(SCRIPT_PATH, {
      summary: "The script of the interactive reference",
      reply: Type.String({ description: "Scalar." }),
      contentType: "text/javascript; charset=utf-8",
      cost: CPU_COST,
      maxAgeSeconds: 86_400,
      read: lazy(referenceScript),
    }),
  ];
  const all = [...routes, ...documents];
  let openApiText: string | null = null;
  let asyncApiText: string | null = null;
  function openApi(): string {
    openApiText ??= JSON.stringify(openApiDocument(all, version));
    return openApiText;
  }
  function asyncApi(): string {
    asyncApiText ??= JSON.stringify(asyncApiDocument(all, version));
    return asyncApiText;
  }
  return {
    routes: documents,
    prepare() {
      openApi();
      asyncApi();
    },
  };
}

function page(path: string, { summary, reply, contentType, cost, maxAgeSeconds = 0, read }: Page): Route {
  return get(path, {
    access: "PUBLIC",
    summary,
    replies: { 200: reply },
    contentType,
    ...(cost && { cost }),
    async handle({ call }) {
      const encodings = await read(call);
      call.header("Cache-Control", maxAgeSeconds === 0 ? "no-cache" : `public, max-age=${maxAgeSeconds}`);
      call.header("X-Content-Type-Options", "nosniff");
      if (contentType !== JSON_TYPE) {
        call.header("Content-Security-Policy", CONTENT_SECURITY_POLICY);
        call.header("Referrer-Policy", "no-referrer");
      }
      call.header("Vary", "Accept-Encoding");
      replyEncoded(call, encodings, contentType);
    },
  });
}

/** Redirects `/docs`, and `/` where there is no terminal, to the reference. Returns false for any other call. */
export function redirectToDocs(call: Call): boolean {
  const reads = call.method === "GET" || call.method === "HEAD";
  if (!reads || (call.path !== "/" && call.path !== DOCS_PATH)) return false;
  call.header("Location", BASE_PATH + DOCS_PATH);
  call.reply(302, "");
  return true;
}
