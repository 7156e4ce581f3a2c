import Type, { type TSchema } from "typebox";
import { BASE_PATH } from "../common/paths.ts";
import { lazy, makeAsset, replyAsset } from "../documents/asset.ts";
import { asyncApiDocument } from "../documents/asyncapi.ts";
import { openApiDocument } from "../documents/openapi.ts";
import {
  CONTENT_SECURITY_POLICY,
  DOCS_PATH,
  REFERENCE_PAGE,
  readReferenceScript,
  SCRIPT_PATH,
} from "../documents/reference-page.ts";
import type { Call } from "../http/call.ts";
import { type Route, route } from "../routing/route.ts";

const JSON_TYPE = "application/json";

/** A text that is always the same. */
interface Page {
  readonly path: string;
  readonly summary: string;
  readonly reply: TSchema;
  readonly contentType: string;
  readonly maxAgeSeconds: number;
  /** Called when it is first asked for. */
  read(): string | Promise<Uint8Array>;
}

/** The documents that describe `routes`, and themselves. `version` is the program's. */
export function documentRoutes(routes: readonly Route[], version: string): Route[] {
  const anyObject = (description: string) => Type.Object({}, { description, additionalProperties: true });
  const own = [
    page({
      path: "/openapi.json",
      summary: "This document",
      reply: anyObject("OpenAPI 3.1."),
      contentType: JSON_TYPE,
      maxAgeSeconds: 0,
      read: () => openApi,
    }),
    page({
      path: "/asyncapi.json",
      summary: "What the WebSocket speaks",
      reply: anyObject("AsyncAPI 3.0."),
      contentType: JSON_TYPE,
      maxAgeSeconds: 0,
      read: () => asyncApi,
    }),
    page({
      path: DOCS_PATH,
      summary: "The interactive reference",
      reply: Type.String({ description: "A page for browsers." }),
      contentType: "text/html; charset=utf-8",
      maxAgeSeconds: 0,
      read: () => REFERENCE_PAGE,
    }),
    page({
      path: SCRIPT_PATH,
      summary: "The script of the interactive reference",
      reply: Type.String({ description: "Scalar." }),
      contentType: "text/javascript; charset=utf-8",
      maxAgeSeconds: 86_400,
      read: readReferenceScript,
    }),
  ];
  const all = [...routes, ...own];
  // Now rather than when they are asked for: it takes a while, and then others would wait.
  const openApi: string = JSON.stringify(openApiDocument(all, version));
  const asyncApi: string = JSON.stringify(asyncApiDocument(all, version));
  return own;
}

function page({ path, summary, reply, contentType, maxAgeSeconds, read }: Page): Route {
  const asset = lazy(async () => makeAsset(contentType, await read()));
  return route({
    method: "GET",
    path,
    access: "PUBLIC",
    summary,
    replies: { 200: reply },
    contentType,
    async handle({ call }) {
      const made = await asset();
      call.header("Cache-Control", maxAgeSeconds === 0 ? "no-cache" : `public, max-age=${maxAgeSeconds}`);
      call.header("X-Content-Type-Options", "nosniff");
      if (contentType !== JSON_TYPE) {
        call.header("Content-Security-Policy", CONTENT_SECURITY_POLICY);
        call.header("Referrer-Policy", "no-referrer");
      }
      replyAsset(call, made);
    },
  });
}

/** Where people look first: leads to the reference. False when the call asks for something else. */
export function redirectToDocs(call: Call): boolean {
  const reads = call.method === "GET" || call.method === "HEAD";
  if (!reads || (call.path !== "/" && call.path !== DOCS_PATH)) return false;
  call.header("Location", BASE_PATH + DOCS_PATH);
  call.reply(302, "");
  return true;
}
