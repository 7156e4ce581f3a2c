import type { TimeMs } from "../core/units.ts";
import type { Principal } from "./credentials.ts";

/** How a client says on a socket who it is. The signature covers timestamp + "GET" + "/v1/ws". */
export type SocketCredentials =
  | { readonly token: string }
  | { readonly apiKey: string; readonly timestamp: TimeMs; readonly signature: string };

/** Why credentials are refused; an ApiError is one. */
export interface SocketProblem {
  readonly code: string;
  readonly message: string;
}

export type Authenticate = (credentials: SocketCredentials, remoteAddress: string) => Principal | SocketProblem;
