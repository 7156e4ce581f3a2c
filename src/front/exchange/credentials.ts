import type { Engine, ReleasedTransaction } from "../../actor/engine/engine.ts";
import { must } from "../../assert.ts";
import { LEDGER, PERMISSIONS, type Permission } from "../../core/base/enums.ts";
import type { TimeMs } from "../../core/base/units.ts";
import { Describe } from "../../core/protocol/commands.ts";
import {
  AccountOpened,
  KeyCreated,
  KeyRevoked,
  type LedgerEvent,
  SessionClosed,
  SessionOpened,
} from "../../core/protocol/events.ts";
import { blank } from "../../core/protocol/message-schema.ts";
import type { KeyRecord, LedgerSummary } from "../../core/protocol/payloads.ts";
import { LedgerDescription } from "../../core/protocol/replies.ts";
import { hashToken } from "../../wire/token.ts";
import { ApiError } from "../common/errors.ts";
import { replyOf, requestPages } from "./request.ts";

/** The account for which a request acts, and its permissions. */
export interface Principal {
  readonly accountId: number;
  readonly permissions: readonly Permission[];
  /** The ledger's name of the credential: the hash of a session's token, or the API key. */
  readonly credential: string;
  /** 0: never. */
  readonly expiresAt: TimeMs;
  /** The record of an API key. Null for a session. */
  readonly record: KeyRecord | null;
}

export const hasExpired = ({ expiresAt }: Principal, now: TimeMs): boolean => expiresAt !== 0 && expiresAt <= now;

/** Throws PERMISSION_DENIED. */
export function checkPermission({ permissions }: Principal, required: Permission): void {
  if (!permissions.includes(required)) throw new ApiError("PERMISSION_DENIED", { details: { required } });
}

/** The credentials of a WebSocket client. The signature covers timestamp + "GET" + "/v1/ws". */
export type SocketCredentials =
  | { readonly token: string }
  | { readonly apiKey: string; readonly timestamp: TimeMs; readonly signature: string };

export interface Session extends Principal {
  /** The last Authorization header of this session. The next request with it costs one look-up and no hash. */
  header: string;
}

export interface Key extends Principal {
  readonly record: KeyRecord;
}

const BEARER = /^Bearer ([A-Za-z0-9_-]{43})$/i;

/** Credentials of one kind, by the ledger's name of the credential and by account. */
class CredentialIndex<C extends Principal> {
  private readonly byCredential = new Map<string, C>();
  private readonly byAccount = new Map<number, readonly C[]>();

  get(credential: string): C | undefined {
    return this.byCredential.get(credential);
  }

  of(accountId: number): readonly C[] {
    return this.byAccount.get(accountId) ?? [];
  }

  all(): C[] {
    return [...this.byCredential.values()];
  }

  add(principal: C): void {
    const { credential, accountId } = principal;
    this.remove(credential);
    this.byCredential.set(credential, principal);
    this.byAccount.set(accountId, [...this.of(accountId), principal]);
  }

  /** Returns the removed one, or undefined. */
  remove(credential: string): C | undefined {
    const principal = this.byCredential.get(credential);
    if (principal === undefined) return undefined;
    this.byCredential.delete(credential);
    const left = this.of(principal.accountId).filter((other) => other !== principal);
    if (left.length > 0) this.byAccount.set(principal.accountId, left);
    else this.byAccount.delete(principal.accountId);
    return principal;
  }
}

/** All open sessions and API keys, and the wallets with an account. Follows the events of the ledger. */
export class Credentials {
  private readonly sessions = new CredentialIndex<Session>();
  private readonly sessionByHeader = new Map<string, Session>();
  private readonly keys = new CredentialIndex<Key>();
  /** By account id. */
  private readonly addresses: string[] = [];
  private readonly knownAddresses = new Set<string>();

  private constructor(engine: Engine) {
    engine.onReleased((transaction) => this.fold(transaction));
  }

  /** Resolves when the state of the ledger was read, page by page. A page includes earlier events; later ones are applied. */
  static async open(engine: Engine): Promise<Credentials> {
    const credentials = new Credentials(engine);
    const command = (from: number) => ({ ...blank(Describe), from });
    await requestPages(engine, LEDGER, command, (transaction) => {
      const { state } = replyOf(transaction, LedgerDescription);
      credentials.prime(state);
      return state.next;
    });
    return credentials;
  }

  /** The session of an Authorization header. It may have expired. */
  sessionOfHeader(header: string): Session | undefined {
    const known = this.sessionByHeader.get(header);
    if (known !== undefined) return known;
    const token = BEARER.exec(header)?.[1];
    const session = token === undefined ? undefined : this.sessionOfToken(token);
    if (session === undefined) return undefined;
    if (session.header !== "") this.sessionByHeader.delete(session.header);
    session.header = header;
    this.sessionByHeader.set(header, session);
    return session;
  }

  sessionOfToken(token: string): Session | undefined {
    return this.sessions.get(hashToken(token));
  }

  key(apiKey: string): Key | undefined {
    return this.keys.get(apiKey);
  }

  /** Newest first. */
  keysOf(accountId: number): Key[] {
    return this.keys.of(accountId).toSorted((a, b) => b.record.createdAt - a.record.createdAt);
  }

  /** Sessions that have not expired. The one that ends last comes first. */
  sessionsOf(accountId: number, now: TimeMs): Session[] {
    const open = this.sessions.of(accountId).filter((session) => !hasExpired(session, now));
    return open.sort((a, b) => b.expiresAt - a.expiresAt);
  }

  /** `address`: in lower case. */
  hasAccount(address: string): boolean {
    return this.knownAddresses.has(address);
  }

  /** The wallet of an account, in lower case. */
  addressOf(accountId: number): string {
    return must(this.addresses[accountId], `the wallet of account ${accountId}`);
  }

  /** In the form of the ledger's summary. */
  allKeys(): LedgerSummary["keys"] {
    return this.keys.all().map(({ credential: apiKey, accountId, record }) => ({ apiKey, accountId, record }));
  }

  private prime(state: LedgerSummary): void {
    for (const [accountId, address] of state.accounts) this.addAccount(accountId, address);
    for (const { accountId, tokenHash, expiresAt } of state.sessions) this.addSession(accountId, tokenHash, expiresAt);
    for (const { accountId, apiKey, record } of state.keys) this.addKey(accountId, apiKey, record);
  }

  private fold(transaction: ReleasedTransaction): void {
    if (transaction.actorId !== LEDGER) return;
    for (let i = 0; i < transaction.eventCount; i++) this.apply(transaction.messages[i] as LedgerEvent);
  }

  private apply(event: LedgerEvent): void {
    switch (event.type) {
      case AccountOpened.code:
        this.addAccount(event.accountId, event.address);
        break;
      case SessionOpened.code:
        this.addSession(event.accountId, event.tokenHash, event.expiresAt);
        break;
      case SessionClosed.code:
        this.removeSession(event.tokenHash);
        break;
      case KeyCreated.code:
        this.addKey(event.accountId, event.apiKey, event.record);
        break;
      case KeyRevoked.code:
        this.keys.remove(event.apiKey);
        break;
    }
  }

  private addAccount(accountId: number, address: string): void {
    this.addresses[accountId] = address;
    this.knownAddresses.add(address);
  }

  private addSession(accountId: number, tokenHash: string, expiresAt: TimeMs): void {
    const session = { accountId, permissions: PERMISSIONS, credential: tokenHash, expiresAt, record: null, header: "" };
    this.sessions.add(session);
  }

  private removeSession(tokenHash: string): void {
    const session = this.sessions.remove(tokenHash);
    if (session !== undefined) this.sessionByHeader.delete(session.header);
  }

  private addKey(accountId: number, apiKey: string, record: KeyRecord): void {
    const { permissions, expiresAt } = record;
    this.keys.add({ accountId, permissions, credential: apiKey, expiresAt, record });
  }
}
