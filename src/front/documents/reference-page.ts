import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { BASE_PATH } from "../common/paths.ts";

/** The interactive reference: Scalar from its npm package. It loads nothing from other hosts. */

/** Below BASE_PATH. */
export const DOCS_PATH = "/docs";
export const SCRIPT_PATH = `${DOCS_PATH}/scalar.js`;

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
export const CONTENT_SECURITY_POLICY = [
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

export const REFERENCE_PAGE = `<!doctype html>
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

/** Scalar's own bundle for browsers. */
export function readReferenceScript(): Promise<Buffer> {
  const main = createRequire(import.meta.url).resolve("@scalar/api-reference");
  return readFile(join(dirname(main), "browser", "standalone.js"));
}
