import Type from "typebox";
import { openApiDocument } from "../documents/openapi.ts";
import { type Route, route } from "../router.ts";

const Document = (description: string) =>
  Type.Object({}, { description, additionalProperties: true, examples: [{ openapi: "3.1.0" }] });

/** The documents that describe `routes`, and themselves. `version` is the program's. */
export function documentRoutes(routes: readonly Route[], version: string): Route[] {
  const own: Route[] = [
    route({
      method: "GET",
      path: "/openapi.json",
      access: "PUBLIC",
      summary: "This document",
      replies: { 200: Document("OpenAPI 3.1.") },
      handle: ({ call }) => call.reply(200, openApi),
    }),
  ];
  const openApi: Uint8Array = Buffer.from(JSON.stringify(openApiDocument([...routes, ...own], version)));
  return own;
}
