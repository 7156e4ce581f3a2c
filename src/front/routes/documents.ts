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

/** A constant document. */
interface Page {
  readonly path: string;
  readonly summary: string;
  readonly reply: TSchema;
  readonly contentType: string;
  readonly maxAgeSeconds: number;
  /** Called at the first request. */
  read(): string | Promise<Uint8Array>;
}

/** The documents that describe `routes`, and themselves. `version`: of the program. */
export function documentRoutes(routes: readonly Route[], version: string): Route[] {
  const anyObject = (description: string) => Type.Object({}, { description, additionalProperties: true });
  const documents = [
    page({
      path: "/openapi.json",
      summary: "This document: the REST API",
      reply: anyObject("OpenAPI 3.1."),
      contentType: JSON_TYPE,
      maxAgeSeconds: 0,
      read: () => openApi,
    }),
    page({
      path: "/asyncapi.json",
      summary: "The WebSocket API",
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
  const all = [...routes, ...documents];
  // Built at the start: it takes so long that a request would delay others.
  const openApi: string = JSON.stringify(openApiDocument(all, version));
  const asyncApi: string = JSON.stringify(asyncApiDocument(all, version));
  return documents;
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

/** Redirects `/` and `/docs` to the reference. Returns false for any other call. */
export function redirectToDocs(call: Call): boolean {
  const reads = call.method === "GET" || call.method === "HEAD";
  if (!reads || (call.path !== "/" && call.path !== DOCS_PATH)) return false;
  call.header("Location", BASE_PATH + DOCS_PATH);
  call.reply(302, "");
  return true;
}
