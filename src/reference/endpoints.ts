import { accessText, tagOf } from "../front/documents/openapi.ts";
import { TAGS } from "../front/documents/prose.ts";
import { errorsOf } from "../front/documents/route-errors.ts";
import { describe } from "../front/documents/schemas.ts";
import { type Access, costOf, isLimited, type Route } from "../front/routing/route.ts";
import type { TObject, TSchema } from "../packages/typebox.ts";
import type { ErrorCode } from "../wire/error-codes.ts";
import { MinSequence } from "../wire/schema/scalars.ts";
import { anchor, code, fieldsTable, page, table } from "./markdown.ts";
import { costText } from "./rate-limits.ts";

/** Every REST endpoint: who may call it, what it takes, what it answers, which errors it has. */
export function endpointsPage(routes: readonly Route[]): string {
  const tags = [...new Set(routes.map(tagOf))];
  const nameOf = ({ method, path }: Route): string => `${method} ${path}`;
  const overview = table(
    ["endpoint", "who may call it", "summary"],
    routes.map((route) => [
      `[${code(nameOf(route))}](#${anchor(nameOf(route))})`,
      callers(route.access),
      route.summary,
    ]),
  );
  const groups = tags.flatMap((tag) => [
    `## ${tag}`,
    ...(tag in TAGS ? [TAGS[tag] as string] : []),
    ...routes.filter((route) => tagOf(route) === tag).map((route) => endpointText(nameOf(route), route)),
  ]);
  return page(
    "REST endpoints",
    "All paths are below `/v1`. Decimals are strings. Times are milliseconds since the epoch. A running exchange serves the same text, with the schema and an example of every field, at `/docs`, and as OpenAPI 3.1 at `/v1/openapi.json`. [Errors](errors.md) lists what each code means. [Rate limits](rate-limits.md) explains the cost.",
    `Each \`GET\` takes the query field \`minSequence\`. ${describe(MinSequence)}`,
    overview,
    `## ${GENERAL_ERRORS}`,
    "They follow from what an endpoint takes and from who may call it.",
    table(
      ["errors"],
      generalErrors(routes).map((error) => [links([error])]),
    ),
    ...groups,
  );
}

const GENERAL_ERRORS = "Errors of every endpoint";

/** Errors that a route may answer beside those that it names itself. */
function generalErrors(routes: readonly Route[]): ErrorCode[] {
  const own = (route: Route): ReadonlySet<ErrorCode> => new Set(route.errors);
  return [...new Set(routes.flatMap((route) => errorsOf(route).filter((error) => !own(route).has(error))))].sort();
}

const links = (errors: readonly ErrorCode[]): string =>
  errors.map((error) => `[${code(error)}](errors.md#${error.toLowerCase()})`).join(", ");

/** The rows that name errors: those of the endpoint itself, and those of single items. */
function errorRows({ errors = [], itemErrors }: Route): string[][] {
  const general = `the [errors of every endpoint](#${anchor(GENERAL_ERRORS)})`;
  const own = errors.length === 0 ? general : `${links(errors)}, and ${general}`;
  return [["errors", own], ...(itemErrors === undefined ? [] : [["errors of single items", links(itemErrors)]])];
}

function endpointText(name: string, route: Route): string {
  const { path, parameter, query, body, bodyOptional = false, replies } = route;
  const [, segment] = /:(\w+)/.exec(path) ?? [];
  const takes = [
    ...(segment === undefined ? [] : [`Path: ${code(segment)}. ${describe(parameter ?? {})}`.trim()]),
    ...(query === undefined ? [] : queryText(query)),
    ...(body === undefined ? [] : [bodyOptional ? "Body (may be left out):" : "Body:", fieldsTable(body)]),
  ];
  const answers = Object.entries(replies).map(([status, schemas]) => {
    const texts = ([schemas].flat() as TSchema[]).map(describe);
    return [`answer ${status}`, texts.join(" Or: ")];
  });
  const cost = !isLimited(route) ? [] : [["cost", costText(costOf(route))]];
  const facts = [["access", accessText(route.access)], ...cost, ...answers, ...errorRows(route)];
  return [
    `### ${code(name)}`,
    `${route.summary}.`,
    ...(route.description === undefined ? [] : [absolute(route.description)]),
    ...takes.filter((text) => text !== ""),
    table(["", ""], facts),
  ].join("\n\n");
}

/** Every GET takes `minSequence`: the introduction has it. */
function queryText(query: TObject): string[] {
  const { minSequence: _, ...properties } = query.properties;
  const fields = fieldsTable({ ...query, properties });
  return fields === "" ? [] : ["Query:", fields];
}

/** Descriptions are written for `/docs`, beside which the exchange serves asyncapi.json. */
const absolute = (text: string): string => text.replaceAll("[asyncapi.json](asyncapi.json)", "`/v1/asyncapi.json`");

function callers(access: Access): string {
  if (access === "PUBLIC") return "everyone";
  if (access === "SESSION") return "session";
  if (access === "METRICS") return "metrics or operator token";
  return access === "OPERATOR" ? "operator token" : `session or key with ${access}`;
}
