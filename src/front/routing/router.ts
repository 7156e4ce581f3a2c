import type { Static, TObject, TSchema } from "typebox";
import { must } from "../../assert.ts";
import type { Permission } from "../../core/base/enums.ts";
import type { ErrorCode } from "../../wire/error-codes.ts";
import { object } from "../../wire/schema/scalars.ts";
import type { Auth } from "../auth/auth.ts";
import { CANCEL_COST, type Cost, DEFAULT_COST, type Limits, ORDER_COST, PAGE_COST } from "../auth/limits.ts";
import { ApiError } from "../common/errors.ts";
import { BASE_PATH } from "../common/paths.ts";
import { checkPermission, type Principal } from "../exchange/credentials.ts";
import type { Log } from "../http/answer.ts";
import type { Call } from "../http/call.ts";
import { Input } from "../json/input.ts";

/** Who may use a route: anyone, whoever has the permission, a wallet's session alone, or the operator. */
export type Access = "PUBLIC" | Permission | "SESSION" | "OPERATOR";
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface RouteRequest<Q extends TObject, B extends TObject> {
  readonly call: Call;
  /** Account 0 on routes that need none. */
  readonly principal: Principal;
  /** What stands in the place of ":name" in the path. */
  readonly parameter: string;
  readonly query: Static<Q>;
  readonly body: Static<B>;
}

export interface RouteSpec<Q extends TObject, B extends TObject> {
  readonly method: Method;
  /** Below BASE_PATH; one segment may be a parameter: "/orders/:id". */
  readonly path: string;
  readonly access: Access;
  readonly summary: string;
  /** What the summary leaves out, in Markdown. */
  readonly description?: string;
  /** Default: see costOf. */
  readonly cost?: Cost;
  /** What a call costs by what its body says, whatever that is. `cost` then tells of the smallest. */
  readonly costOfBody?: (body: unknown) => Cost;
  /** What the parameter must look like; its description goes into openapi.json. */
  readonly parameter?: TSchema;
  readonly query?: Q;
  readonly body?: B;
  /** A body may be left out. */
  readonly bodyOptional?: boolean;
  /** Bodies to show, by what they are. Without them one is made from the examples of the fields it must have. */
  readonly examples?: Readonly<Record<string, Static<B>>>;
  /** By HTTP status: what the answer is, or may be. */
  readonly replies: Readonly<Record<number, TSchema | readonly TSchema[]>>;
  /** Of replies other than errors. Default: application/json. */
  readonly contentType?: string;
  /** Those that are this route's own; the others follow from what it takes. */
  readonly errors?: readonly ErrorCode[];
  /** Those of single rows in an answer that is a success. */
  readonly itemErrors?: readonly ErrorCode[];
  /**
   * Answers a call whose body has the form that nearly all have, straight from its bytes; false, and nothing was done, for
   * any other, right or wrong: handle() gets it. There is no query.
   */
  handleBytes?(call: Call, principal: Principal, body: Uint8Array): boolean;
  /** Answers the call, now or later. What it throws, or its promise rejects with, is the answer too. */
  handle(request: RouteRequest<Q, B>): void | Promise<void>;
}

/** A route whatever it takes. */
export type Route = RouteSpec<TObject, TObject>;

/** Declares a route, with the types of its query and body taken from their schemas. */
export const route = <Q extends TObject = TObject, B extends TObject = TObject>(spec: RouteSpec<Q, B>): Route =>
  spec as unknown as Route;

/** What a call of the route costs, unless it says so itself: pages of a list more than other reads. */
export function costOf({ cost, access, method, path, query }: Route): Cost {
  if (cost !== undefined) return cost;
  if (access === "TRADE" && /^\/(orders|positions)\b/.test(path)) return method === "DELETE" ? CANCEL_COST : ORDER_COST;
  return query !== undefined && "limit" in query.properties ? PAGE_COST : DEFAULT_COST;
}

/** Finds out who calls, or throws. */
export type Authenticator = Pick<Auth, "principal" | "session" | "operator">;

interface Endpoint {
  readonly route: Route;
  readonly cost: Cost;
  readonly query: Input<TObject>;
  readonly body: Input<TObject> | null;
}

/** What answers at one path: an endpoint for each method. */
interface PathEndpoints {
  readonly endpoints: Map<string, Endpoint>;
  readonly allow: string;
}

const ANONYMOUS: Principal = { accountId: 0, permissions: [], credential: "", expiresAt: 0, record: null };
const NO_FIELDS = {};
const EMPTY = object({});

/** Finds the route of a call, and checks who calls and what was sent before it runs. */
export class Router {
  /** Paths without a parameter, and those with one by their text before it. */
  private readonly byPath = new Map<string, PathEndpoints>();
  private readonly byPattern: { before: string; after: string; place: PathEndpoints }[] = [];
  private readonly auth: Authenticator;
  private readonly log: Log;
  private readonly limits: Limits | null;

  /** `limits` null: none. */
  constructor(routes: readonly Route[], auth: Authenticator, log: Log, limits: Limits | null = null) {
    this.auth = auth;
    this.log = log;
    this.limits = limits;
    for (const path of new Set(routes.map((each) => BASE_PATH + each.path))) {
      const place = endpointsOf(routes.filter((each) => BASE_PATH + each.path === path));
      const colon = path.indexOf("/:");
      if (colon < 0) {
        this.byPath.set(path, place);
        continue;
      }
      const end = path.indexOf("/", colon + 2);
      this.byPattern.push({ before: path.slice(0, colon + 1), after: end < 0 ? "" : path.slice(end), place });
    }
  }

  /** Throws an ApiError, or answers the call now or later. */
  handle(call: Call): void {
    const { path } = call;
    const fixed = this.byPath.get(path);
    if (fixed !== undefined) return this.run(call, fixed, "");
    for (const { before, after, place } of this.byPattern) {
      if (!path.startsWith(before) || !path.endsWith(after)) continue;
      const parameter = path.slice(before.length, path.length - after.length);
      if (parameter !== "" && !parameter.includes("/")) return this.run(call, place, parameter);
    }
    this.chargeAddress(call, DEFAULT_COST);
    throw new ApiError("NOT_FOUND");
  }

  /** `parameter`: as it came. */
  private run(call: Call, place: PathEndpoints, parameter: string): void {
    const { method } = call;
    const endpoint = place.endpoints.get(method);
    if (endpoint === undefined) {
      this.chargeAddress(call, DEFAULT_COST);
      call.header("Allow", place.allow);
      if (method === "OPTIONS") return call.reply(204, "");
      throw new ApiError("METHOD_NOT_ALLOWED", { details: { allowed: place.allow.split(", ") } });
    }
    const { route, query, body } = endpoint;
    const cost = route.costOfBody === undefined ? endpoint.cost : costOfCall(call, route.costOfBody, endpoint.cost);
    // The operator is not limited: what everyone else does must not keep an index price out.
    const pays = route.access !== "OPERATOR" && this.chargeAddress(call, cost);
    const principal = this.authenticate(call, route.access);
    if (pays) this.chargePrincipal(call, principal, cost);
    if (call.query === "" && route.handleBytes?.(call, principal, call.bytes) === true) return;
    const request = {
      call,
      principal,
      parameter: decodeParameter(parameter),
      query: query.readQuery(call.query),
      body: readBody(call, body, route),
    };
    const running = route.handle(request);
    if (running !== undefined) running.catch((thrown) => call.fail(thrown, this.log));
  }

  /** False when the client is not limited. */
  private chargeAddress(call: Call, cost: Cost): boolean {
    const { limits } = this;
    if (limits === null) return false;
    const address = call.remoteAddress();
    if (!limits.covers(address)) return false;
    try {
      limits.payByAddress(address, cost, call.arrivedAt);
      return true;
    } catch (thrown) {
      call.showQuota(limits.quota());
      throw thrown;
    }
  }

  private chargePrincipal(call: Call, principal: Principal, cost: Cost): void {
    const limits = must(this.limits, "limits");
    try {
      if (principal !== ANONYMOUS) limits.payByPrincipal(principal, cost, call.arrivedAt);
    } finally {
      call.showQuota(limits.quota());
    }
  }

  /** Who guesses at the operator's token pays for it. */
  private checkOperator(call: Call): void {
    try {
      this.auth.operator(call);
    } catch (thrown) {
      this.chargeAddress(call, DEFAULT_COST);
      throw thrown;
    }
  }

  private authenticate(call: Call, access: Access): Principal {
    switch (access) {
      case "PUBLIC":
        return ANONYMOUS;
      case "SESSION":
        return this.auth.session(call);
      case "OPERATOR":
        this.checkOperator(call);
        return ANONYMOUS;
      default: {
        const principal = this.auth.principal(call);
        checkPermission(principal, access);
        return principal;
      }
    }
  }
}

function endpointsOf(routes: readonly Route[]): PathEndpoints {
  const endpoints = new Map<string, Endpoint>();
  for (const each of routes) {
    if (endpoints.has(each.method)) throw new Error(`${each.method} ${each.path} is declared twice`);
    endpoints.set(each.method, {
      route: each,
      cost: costOf(each),
      query: new Input(each.query ?? EMPTY),
      body: each.body === undefined ? null : new Input(each.body),
    });
  }
  const get = endpoints.get("GET");
  if (get !== undefined) endpoints.set("HEAD", get);
  return { endpoints, allow: [...endpoints.keys(), "OPTIONS"].join(", ") };
}

/** `cost` when there is no JSON: that is said once it is known who asks. */
function costOfCall(call: Call, weigh: (body: unknown) => Cost, cost: Cost): Cost {
  try {
    return weigh(call.json());
  } catch {
    return cost;
  }
}

function readBody(call: Call, input: Input<TObject> | null, { bodyOptional }: Route): Record<string, unknown> {
  if (input === null) {
    if (call.bytes.length > 0) throw new ApiError("UNEXPECTED_BODY");
    return NO_FIELDS;
  }
  return call.bytes.length === 0 && bodyOptional === true ? NO_FIELDS : input.check(call.json());
}

/** The characters of ids and symbols need no escape, but some clients escape all the same. */
function decodeParameter(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ApiError("BAD_QUERY", { message: "A percent escape in the path is malformed or not UTF-8." });
  }
}
