import type { Permission } from "../core/messages.ts";
import type { TimeMs } from "../core/units.ts";

/** How a client says on a socket who it is. The signature covers timestamp + "GET" + "/v1/ws". */
export type SocketCredentials =
  | { readonly token: string }
  | { readonly apiKey: string; readonly timestamp: TimeMs; readonly signature: string };

/** Whom a socket acts for. */
export interface SocketIdentity {
  readonly accountId: number;
  readonly permissions: readonly Permission[];
  /** 0 = never. */
  readonly expiresAt: TimeMs;
  /** What the ledger calls the credential: the hash of a session's token, or the API key. */
  readonly credential: string;
}

/** Why credentials are refused; an ApiError is one. */
export interface SocketProblem {
  readonly code: string;
  readonly message: string;
}

export type Authenticate = (credentials: SocketCredentials, remoteAddress: string) => SocketIdentity | SocketProblem;
