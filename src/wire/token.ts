import { createHash, randomBytes } from "node:crypto";

/** A new session token: 32 random bytes as base64url text. The owner sees it once; the exchange stores only its hash. */
export const newToken = (): string => randomBytes(32).toString("base64url");

/** The ledger's name of a session: the hex SHA-256 of the token's text. A random token needs no salt. */
export const hashToken = (token: string): string => createHash("sha256").update(token).digest("hex");

/** The public id of a session: enough digits of the hash to tell the sessions of an account apart. */
export const sessionIdOf = (tokenHash: string): string => tokenHash.slice(0, 16);
