import { must } from "../../assert.ts";
import type { TObject } from "../../packages/typebox.ts";
import { object } from "../../wire/schema/scalars.ts";
import type { Auth } from "../auth/auth.ts";
import { type Cost, DEFAULT_COST, type Limits, sizeCost } from "../auth/limits.ts";
import { OperatorAttempts } from "../auth/operator-attempts.ts";
import type { OperatorAccess } from "../auth/operators.ts";
import { ApiError } from "../common/errors.ts";
import { BASE_PATH } from "../common/paths.ts";
import { checkPermission, type Principal } from "../exchange/credentials.ts";
import type { SequenceWaits } from "../exchange/sequence-waits.ts";
import type { OperatorLog } from "../http/answer.ts";
import type { Call } from "../http/call.ts";
import { allowAnyOrigin } from "../http/origins.ts";
import { SEQUENCE_HEADER } from "../http/reply-writer.ts";
import { LARGE_BODY_BYTES } from "../http/request-body.ts";
import { decodePercent, Input } from "../json/input.ts";
import { type Access, costOf, isForOperators, isLimited, type Route, type RouteRequest } from "./route.ts";

/** Finds out who calls, or throws an ApiError. */
export type Authenticator = Pick<Auth, "principal" | "session" | "operator">;

interface Endpoint {
  readonly route: Route;
  readonly cost: Cost;
  readonly query: Input<TObject>;
  readonly body: Input<TObject> | null;
}

interface PathEndpoints {
  readonly byMethod: Map<string, Endpoint>;
  /** The value of the Allow header. */
  readonly allow: string;
}

const ANONYMOUS: Principal = { accountId: 0, permissions: [], credential: "", expiresAt: 0, record: null };
const NO_FIELDS = {};
const EMPTY = object({});

/** Finds the route of a call. Charges the rate limits, authenticates and checks the fields before the route runs. */
export class Router {
  /** Paths without a parameter. */
  private readonly byPath = new Map<string, PathEndpoints>();
  /** Paths with a parameter, by the text before and after it. */
  private readonly byPattern: { before: string; after: string; path: PathEndpoints }[] = [];
  private readonly auth: Authenticator;
  private readonly log: OperatorLog;
  private readonly limits: Limits | null;
  private readonly sequences: SequenceWaits | null;
  private readonly attempts: OperatorAttempts;

  /** `limits` null: no rate limits. `sequences` null: minSequence is not heeded. */
  constructor(
    routes: readonly Route[],
    auth: Authenticator,
    log: OperatorLog,
    limits: Limits | null = null,
    sequences: SequenceWaits | null = null,
  ) {
    this.sequences = sequences;
    this.auth = auth;
    this.log = log;
    this.limits = limits;
    this.attempts = new OperatorAttempts(limits, log);
    for (const path of new Set(routes.map((each) => BASE_PATH + each.path))) {
      const endpoints = endpointsOf(routes.filter((each) => BASE_PATH + each.path === path));
      const colon = path.indexOf("/:");
      if (colon < 0) {
        this.byPath.set(path, endpoints);
        continue;
      }
      const end = path.indexOf("/", colon + 2);
      const after = end < 0 ? "" : path.slice(end);
      this.byPattern.push({ before: path.slice(0, colon + 1), after, path: endpoints });
    }
  }

  /** The paths of routes without a parameter. */
  static pathsOf(routes: readonly Route[]): Set<string> {
    return new Set(routes.map(({ path }) => BASE_PATH + path));
  }

  /** Throws an ApiError, or answers the call now or later. */
  handle(call: Call): void {
    const exact = this.byPath.get(call.path);
    if (exact !== undefined) return this.run(call, exact, "");
    for (const { before, after, path } of this.byPattern) {
      if (!call.path.startsWith(before) || !call.path.endsWith(after)) continue;
      const parameter = call.path.slice(before.length, call.path.length - after.length);
      if (parameter !== "" && !parameter.includes("/")) return this.run(call, path, parameter);
    }
    this.chargeAddress(call, DEFAULT_COST);
    throw new ApiError("NOT_FOUND");
  }

  /** Answers a call that is no route's, at the cost of a read. */
  answerFile(call: Call, answer: (call: Call) => void): void {
    this.chargeAddress(call, DEFAULT_COST);
    answer(call);
  }

  /** `parameter`: still percent-encoded. */
  private run(call: Call, path: PathEndpoints, parameter: string): void {
    const endpoint = path.byMethod.get(call.method);
    if (endpoint === undefined) return this.refuseMethod(call, path);
    const { route, query, body } = endpoint;
    if (call.isForeign) admitForeign(call, route);
    const { length } = call.bytes;
    if (length > LARGE_BODY_BYTES && isLimited(route)) this.chargeAddress(call, sizeCost(length));
    const cost = route.costOfBody === undefined ? endpoint.cost : costOfCall(call, route.costOfBody, endpoint.cost);
    const { access } = route;
    const isOperators = isForOperators(access);
    const isCharged = isLimited(route) && this.chargeAddress(call, cost);
    const operator = isOperators ? this.operatorOf(call, access, route.path) : "";
    const principal = isOperators ? ANONYMOUS : this.authenticate(call, access);
    if (isCharged) this.chargePrincipal(call, principal, cost);
    const isRead = route.method === "GET";
    // A read includes what was released before it began. A change includes itself.
    if (!isRead && this.sequences?.isReplicated) call.shownSequence = this.sequences;
    if (call.query === "" && route.handleBytes?.(call, principal, call.bytes) === true) return;
    const request = {
      call,
      principal,
      operator,
      parameter: decodePercent(parameter, "path"),
      query: query.readQuery(call.query),
      body: readBody(call, body, route),
    };
    if (isOperators && !isRead) this.logOperator(request, route);
    const running = isRead ? this.read(route, request) : route.handle(request);
    if (running !== undefined) running.catch((thrown) => call.fail(thrown, this.log));
  }

  /** Waits for `minSequence` first. */
  private read(route: Route, request: RouteRequest<TObject, TObject>): void | Promise<void> {
    const { sequences } = this;
    if (sequences === null) return route.handle(request);
    const { minSequence = 0 } = request.query as { minSequence?: number };
    if (minSequence > sequences.sequence)
      return sequences.wait(minSequence).then(() => {
        if (!request.call.done) return this.read(route, request);
      });
    if (sequences.isReplicated) request.call.header(SEQUENCE_HEADER, String(sequences.sequence));
    return route.handle(request);
  }

  private refuseMethod(call: Call, { allow }: PathEndpoints): void {
    this.chargeAddress(call, DEFAULT_COST);
    call.header("Allow", allow);
    if (call.method === "OPTIONS") return call.reply(204, "");
    throw new ApiError("METHOD_NOT_ALLOWED", { details: { allowed: allow.split(", ") } });
  }

  /** Returns false when the client has no rate limit. */
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

  /** The operator's name. A wrong token is counted against the address and logged. */
  private operatorOf(call: Call, access: OperatorAccess, path: string): string {
    try {
      return this.auth.operator(call, access);
    } catch (thrown) {
      this.attempts.refused(call, path);
      throw thrown;
    }
  }

  /** Logs a change with the name of the operator who made it. */
  private logOperator({ call, operator, parameter, body }: RouteRequest<TObject, TObject>, route: Route): void {
    const fields = { operator, method: route.method, path: route.path, parameter, body, requestId: call.requestId };
    this.log[route.isFrequent === true ? "debug" : "info"](fields, "an operator's request");
  }

  private authenticate(call: Call, access: Exclude<Access, OperatorAccess>): Principal {
    switch (access) {
      case "PUBLIC":
        return ANONYMOUS;
      case "SESSION":
        return this.auth.session(call);
      default: {
        const principal = this.auth.principal(call);
        checkPermission(principal, access);
        return principal;
      }
    }
  }
}

/** Pages of other sites may read public data, errors included. Throws ORIGIN_NOT_ALLOWED for anything else. */
function admitForeign(call: Call, { access, method }: Route): void {
  if (access !== "PUBLIC" || method !== "GET") throw new ApiError("ORIGIN_NOT_ALLOWED");
  allowAnyOrigin(call);
}

function endpointsOf(routes: readonly Route[]): PathEndpoints {
  const byMethod = new Map<string, Endpoint>();
  for (const each of routes) {
    if (byMethod.has(each.method)) throw new Error(`${each.method} ${each.path} is declared twice`);
    byMethod.set(each.method, {
      route: each,
      cost: costOf(each),
      query: new Input(each.query ?? EMPTY),
      body: each.body === undefined ? null : new Input(each.body),
    });
  }
  const get = byMethod.get("GET");
  if (get !== undefined) byMethod.set("HEAD", get);
  return { byMethod, allow: [...byMethod.keys(), "OPTIONS"].join(", ") };
}

/** A body that is no JSON costs `cost`. It is refused later, after authentication. */
function costOfCall(call: Call, costOfBody: (body: unknown) => Cost, cost: Cost): Cost {
  try {
    return costOfBody(call.json());
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
