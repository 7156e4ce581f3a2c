import { createHash, randomBytes } from "node:crypto";

/** A new session token: 32 random bytes as base64url text. Shown to its owner once; the exchange keeps its hash. */
export const newToken = (): string => randomBytes(32).toString("base64url");

/** What the ledger knows a session by: the hex SHA-256 of the token's text. No salt needed, the token is random. */
export const hashToken = (token: string): string => createHash("sha256").update(token).digest("hex");

/** What its owner knows a session by: enough of the hash to tell an account's sessions apart. */
export const sessionIdOf = (tokenHash: string): string => tokenHash.slice(0, 16);
