import Type from "typebox";
import { asyncApiDocument } from "../documents/asyncapi.ts";
import { openApiDocument } from "../documents/openapi.ts";
import { type Route, route } from "../router.ts";

const document = (name: string, version: string) =>
  Type.Object({}, { description: `${name} ${version}.`, additionalProperties: true });

/** The documents that describe `routes`, and themselves. `version` is the program's. */
export function documentRoutes(routes: readonly Route[], version: string): Route[] {
  const own: Route[] = [
    route({
      method: "GET",
      path: "/openapi.json",
      access: "PUBLIC",
      summary: "This document",
      replies: { 200: document("OpenAPI", "3.1") },
      handle: ({ call }) => call.reply(200, openApi),
    }),
    route({
      method: "GET",
      path: "/asyncapi.json",
      access: "PUBLIC",
      summary: "What the WebSocket speaks",
      replies: { 200: document("AsyncAPI", "3.0") },
      handle: ({ call }) => call.reply(200, asyncApi),
    }),
  ];
  const all = [...routes, ...own];
  const openApi: Uint8Array = Buffer.from(JSON.stringify(openApiDocument(all, version)));
  const asyncApi: Uint8Array = Buffer.from(JSON.stringify(asyncApiDocument(all, version)));
  return own;
}
