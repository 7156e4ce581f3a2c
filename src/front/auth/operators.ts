import { createHash, timingSafeEqual } from "node:crypto";
import { ApiError } from "../common/errors.ts";

/** OPERATOR: the operators alone. METRICS: whoever reads the metrics, too. */
export type OperatorAccess = "OPERATOR" | "METRICS";

export interface OperatorTokens {
  /** "": there is none. Its holder is called "operator". */
  operatorToken: string;
  /** Tokens by name. */
  operators: Readonly<Record<string, string>>;
  /** "": only operators may read the metrics. Its holder is called "metrics". */
  metricsToken: string;
}

interface Holder {
  readonly name: string;
  readonly digest: Buffer;
}

const NO_OPERATOR =
  "Operator requests are disabled, because the exchange was started without an operatorToken (PERPD_OPERATOR_TOKEN).";

/**
 * Knows operators by their tokens. Digests have the same length, and every one is compared in constant time. So the time of
 * an answer tells nothing about a token.
 */
export class Operators {
  private readonly holders: Readonly<Record<OperatorAccess, readonly Holder[]>>;

  constructor({ operatorToken, operators, metricsToken }: OperatorTokens) {
    const named = Object.entries({ operator: operatorToken, ...operators });
    this.holders = { OPERATOR: holdersOf(named), METRICS: holdersOf([...named, ["metrics", metricsToken]]) };
  }

  /** The name of the one whose token a request has. `authorization`: its header. Throws OPERATOR_REQUIRED. */
  nameOf(authorization: string, access: OperatorAccess): string {
    const holders = this.holders[access];
    if (holders.length === 0) throw new ApiError("OPERATOR_REQUIRED", { message: NO_OPERATOR });
    const given = digest(/^Bearer (.+)$/i.exec(authorization)?.[1] ?? "");
    let found: string | null = null;
    for (const holder of holders) if (timingSafeEqual(given, holder.digest)) found = holder.name;
    if (found === null) throw new ApiError("OPERATOR_REQUIRED");
    return found;
  }
}

const holdersOf = (named: readonly [name: string, token: string][]): Holder[] =>
  named.filter(([, token]) => token !== "").map(([name, token]) => ({ name, digest: digest(token) }));

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
