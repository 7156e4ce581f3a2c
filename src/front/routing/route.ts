import type { Permission } from "../../core/base/enums.ts";
import type { Static, TObject, TSchema } from "../../packages/typebox.ts";
import type { ErrorCode } from "../../wire/error-codes.ts";
import { MinSequence, object } from "../../wire/schema/scalars.ts";
import { CANCEL_COST, type Cost, DEFAULT_COST, ORDER_COST, PAGE_COST } from "../auth/limits.ts";
import type { OperatorAccess } from "../auth/operators.ts";
import type { Principal } from "../exchange/credentials.ts";
import type { Call } from "../http/call.ts";

/** The callers of a route: anyone, a credential with the permission, a wallet session only, or an operator. */
export type Access = "PUBLIC" | Permission | "SESSION" | OperatorAccess;
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface RouteRequest<Q extends TObject, B extends TObject> {
  readonly call: Call;
  /** Account 0 where no account is needed. */
  readonly principal: Principal;
  /** The name of the operator who calls; "" where none is needed. */
  readonly operator: string;
  /** The part of the path in the place of ":name". */
  readonly parameter: string;
  readonly query: Static<Q>;
  readonly body: Static<B>;
}

/** The declaration of an endpoint. The router, the rate limits and openapi.json are made from it. */
export interface RouteSpec<Q extends TObject, B extends TObject> {
  readonly access: Access;
  readonly summary: string;
  /** Markdown. Adds to the summary. */
  readonly description?: string;
  /** Default: see costOf. */
  readonly cost?: Cost;
  /** It costs nothing: no load of other clients may keep a load balancer or a monitor from its answer. */
  readonly isFree?: true;
  /** The cost of a call by its body, which is not checked yet. `cost` is then the smallest one. */
  readonly costOfBody?: (body: unknown) => Cost;
  /** The schema of the path's parameter. Its description goes into openapi.json. */
  readonly parameter?: TSchema;
  readonly query?: Q;
  readonly body?: B;
  readonly bodyOptional?: boolean;
  /** Programs call it so often that the log names the operator at the level debug only. */
  readonly isFrequent?: boolean;
  /** Example bodies by title. Default: one body, built from the examples of its required fields. */
  readonly examples?: Readonly<Record<string, Static<B>>>;
  /** The schemas of a successful reply, by HTTP status. */
  readonly replies: Readonly<Record<number, TSchema | readonly TSchema[]>>;
  /** Of successful replies. Default: application/json. */
  readonly contentType?: string;
  /** The codes of this route alone. The others follow from its fields and its access. */
  readonly errors?: readonly ErrorCode[];
  /** The codes of single items in a successful reply. */
  readonly itemErrors?: readonly ErrorCode[];
  /**
   * The fast path: answers a call with the most frequent form of body, straight from its bytes. Returns false when it has
   * done nothing; then handle() gets the call. Only calls without a query come here.
   */
  handleBytes?(call: Call, principal: Principal, body: Uint8Array): boolean;
  /** Answers the call, now or later. An ApiError that it throws or rejects with becomes the answer. */
  handle(request: RouteRequest<Q, B>): void | Promise<void>;
}

interface Place {
  readonly method: Method;
  /** Below BASE_PATH. One segment may be a parameter: "/orders/:id". */
  readonly path: string;
}

/** A route with any query and body. */
export type Route = Place & RouteSpec<TObject, TObject>;

/** Declares a route. The types of its query and body come from their schemas. */
export const route = <Q extends TObject = TObject, B extends TObject = TObject>(spec: Place & RouteSpec<Q, B>): Route =>
  spec as unknown as Route;

const declare =
  (method: Method) =>
  <Q extends TObject = TObject, B extends TObject = TObject>(path: string, spec: RouteSpec<Q, B>): Route =>
    route({ method, path, ...spec });

const declareGet = declare("GET");
/** A GET. Its query has the field minSequence, which the router reads. */
export const get = <Q extends TObject = TObject>(path: string, spec: RouteSpec<Q, TObject>): Route =>
  declareGet(path, { ...spec, query: object({ ...spec.query?.properties, minSequence: MinSequence }) as unknown as Q });
export const post = declare("POST");
export const put = declare("PUT");
export const patch = declare("PATCH");
export const del = declare("DELETE");

/** Operators have no rate limit, unless the token is wrong. */
export const isForOperators = (access: Access): access is OperatorAccess =>
  access === "OPERATOR" || access === "METRICS";

/** Its calls are charged to the rate limits. No load of others may keep the operator from setting an index price. */
export const isLimited = ({ access, isFree }: Route): boolean => !isForOperators(access) && isFree !== true;

/** The cost of a call. Without a declared one, a page of a list costs more than other reads. */
export function costOf({ cost, access, method, path, query }: Route): Cost {
  if (cost !== undefined) return cost;
  if (access === "TRADE" && /^\/(orders|positions)\b/.test(path)) return method === "DELETE" ? CANCEL_COST : ORDER_COST;
  return query !== undefined && "limit" in query.properties ? PAGE_COST : DEFAULT_COST;
}

/** The unit that a cost is charged for: the request, or each item of its body. */
export type Charged = "REQUEST" | "ITEM";

export const chargedPer = ({ costOfBody }: Route): Charged => (costOfBody === undefined ? "REQUEST" : "ITEM");
