import type { ReleasedTransaction } from "../../actor/engine/engine.ts";
import { keyLines } from "../../client/approval.ts";
import { LEDGER } from "../../core/base/enums.ts";
import { printQuanta } from "../../core/base/units.ts";
import { MAX_SESSIONS_PER_ACCOUNT } from "../../core/ledger/sessions.ts";
import { CloseSession, CreateKey, OpenSession, RevokeKey } from "../../core/protocol/commands.ts";
import { blank } from "../../core/protocol/message-schema.ts";
import type { KeyRecord } from "../../core/protocol/payloads.ts";
import { Done, SessionView } from "../../core/protocol/replies.ts";
import type { Static } from "../../packages/typebox.ts";
import { errorsIn } from "../../wire/error-codes.ts";
import * as schema from "../../wire/schema/auth.ts";
import { ApiKeyName, SessionId } from "../../wire/schema/scalars.ts";
import { hashToken, newToken, sessionIdOf } from "../../wire/token.ts";
import { newApiKey, newSecret } from "../auth/keys.ts";
import { CPU_COST, KEEPING_COST, PAGE_COST } from "../auth/limits.ts";
import { parseAddressList } from "../common/address-list.ts";
import { ApiError } from "../common/errors.ts";
import type { Key } from "../exchange/credentials.ts";
import { replyOf, request, requestFor, requestOnce } from "../exchange/request.ts";
import type { Call } from "../http/call.ts";
import { readAmount } from "../json/amounts.ts";
import { listJson } from "../json/json-writers.ts";
import type { Context } from "../routing/context.ts";
import { del, get, post, type Route } from "../routing/route.ts";

export const challengeRoute = ({ wallets }: Context): Route =>
  post("/auth/challenge", {
    access: "PUBLIC",
    summary: "Get the message that a wallet signs to log in",
    cost: PAGE_COST,
    body: schema.ChallengeBody,
    replies: { 200: schema.Challenge },
    handle({ call, body }) {
      call.reply(200, JSON.stringify(wallets.issue(body.address, body.chainId, Date.now())));
    },
  });

export const loginRoute = ({ engine, wallets, credentials, limits, sessionTtlMs }: Context): Route =>
  post("/auth/login", {
    access: "PUBLIC",
    summary: "Open a session with a signed challenge",
    description:
      "The first login of a wallet opens its account. An account has at most " +
      `${MAX_SESSIONS_PER_ACCOUNT} sessions; one more ends the oldest.`,
    cost: CPU_COST,
    body: schema.LoginBody,
    replies: { 200: schema.Session },
    errors: errorsIn("LOGIN"),
    async handle({ call, body }) {
      const remoteAddress = call.remoteAddress();
      const now = Date.now();
      const wallet = await wallets.redeem(body.message, body.signature, now, remoteAddress);
      const address = wallet.toLowerCase();
      const token = newToken();
      const command = { ...blank(OpenSession), address, tokenHash: hashToken(token), expiresAt: now + sessionTtlMs };
      try {
        if (!credentials.hasAccount(address)) limits?.payForAccount(remoteAddress, performance.now());
        const session = await request(engine, LEDGER, command, (transaction) => {
          const { accountId, expiresAt } = replyOf(transaction, SessionView);
          return { token, accountId: String(accountId), address: wallet, expiresAt };
        });
        call.reply(200, JSON.stringify(session));
      } catch (thrown) {
        // An ApiError says that there is no session, and often asks for the same request again.
        if (thrown instanceof ApiError) wallets.restore(body.message);
        throw thrown;
      }
    },
  });

export const logoutRoute = (context: Context): Route =>
  post("/auth/logout", {
    access: "SESSION",
    summary: "End the session of this request",
    replies: { 200: schema.LoggedOut },
    handle({ call, principal: { accountId, credential } }) {
      closeSessions(context, call, accountId, credential, () => ({ accountId: String(accountId), loggedOut: true }));
    },
  });

export const sessionsRoute = ({ credentials }: Context): Route =>
  get("/auth/sessions", {
    access: "SESSION",
    summary: "The open sessions of the account",
    replies: { 200: schema.OpenSessionList },
    handle({ call, principal: { accountId, credential } }) {
      const rows = credentials.sessionsOf(accountId, Date.now()).map((session) =>
        JSON.stringify({
          sessionId: sessionIdOf(session.credential),
          expiresAt: session.expiresAt,
          current: session.credential === credential,
        }),
      );
      call.reply(200, listJson(rows, null));
    },
  });

export const endSessionsRoute = (context: Context): Route =>
  del("/auth/sessions", {
    access: "SESSION",
    summary: "End all sessions of the account, also the one of this request. API keys stay",
    replies: { 200: schema.EndedSessions },
    handle({ call, principal: { accountId } }) {
      endSessions(context, call, accountId, ALL_SESSIONS);
    },
  });

export const endSessionRoute = (context: Context): Route =>
  del("/auth/sessions/:sessionId", {
    access: "SESSION",
    summary: "End one session of the account",
    parameter: SessionId,
    replies: { 200: schema.EndedSessions },
    errors: errorsIn("END_SESSION"),
    handle({ call, principal: { accountId }, parameter }) {
      const sessions = context.credentials.sessionsOf(accountId, Date.now());
      const session = sessions.find(({ credential }) => sessionIdOf(credential) === parameter);
      if (session === undefined) throw new ApiError("SESSION_NOT_FOUND", { field: "sessionId" });
      endSessions(context, call, accountId, session.credential);
    },
  });

/** The tokenHash of CloseSession that means every session of the account. */
const ALL_SESSIONS = "";

const endSessions = (context: Context, call: Call, accountId: number, tokenHash: string): void =>
  closeSessions(context, call, accountId, tokenHash, (ended) => ({ accountId: String(accountId), ended }));

/** `describe` makes the reply from the number of sessions that have ended. */
function closeSessions(
  context: Context,
  call: Call,
  accountId: number,
  tokenHash: string,
  describe: (ended: number) => object,
): void {
  requestFor(context, call, LEDGER, { ...blank(CloseSession), accountId, tokenHash }, (transaction) => {
    replyOf(transaction, Done);
    call.reply(200, JSON.stringify(describe(transaction.eventCount)));
  });
}

export const createKeyRoute = (context: Context): Route =>
  post("/auth/keys", {
    access: "SESSION",
    summary: "Create an API key. Its secret is shown only in this answer",
    description:
      "When the account has as many keys as it may, the new key replaces the one that expired first, if any.",
    cost: KEEPING_COST,
    body: schema.CreateKeyBody,
    replies: { 201: schema.CreatedKey },
    errors: errorsIn("CREATE_KEY", "APPROVAL"),
    async handle({ call, principal: { accountId }, body }) {
      const [apiKey, secret] = [newApiKey(), newSecret()];
      const record = readKeyRecord(context, body, context.vault.seal(secret, apiKey), Date.now());
      const remoteAddress = call.remoteAddress();
      await context.approvals.checkOnce({ accountId, lines: keyLines(body), approval: body.approval, remoteAddress });
      const command = { ...blank(CreateKey), accountId, apiKey, record };
      const read = (transaction: ReleasedTransaction): void => {
        replyOf(transaction, Done);
        call.reply(201, JSON.stringify({ apiKey, secret }));
      };
      requestOnce(context, call, LEDGER, command, read, () => context.approvals.restore(body.approval));
    },
  });

export const keysRoute = ({ credentials }: Context): Route =>
  get("/auth/keys", {
    access: "SESSION",
    summary: "The account's API keys",
    replies: { 200: schema.ApiKeyList },
    handle({ call, principal }) {
      const rows = credentials.keysOf(principal.accountId).map((key) => JSON.stringify(describeKey(key)));
      call.reply(200, listJson(rows, null));
    },
  });

export const revokeKeyRoute = (context: Context): Route =>
  del("/auth/keys/:apiKey", {
    access: "SESSION",
    summary: "Revoke an API key",
    parameter: ApiKeyName,
    replies: { 200: schema.RevokedKey },
    errors: errorsIn("REVOKE_KEY"),
    handle({ call, principal, parameter }) {
      const command = { ...blank(RevokeKey), accountId: principal.accountId, apiKey: parameter };
      requestFor(context, call, LEDGER, command, (transaction) => {
        replyOf(transaction, Done);
        call.reply(200, JSON.stringify({ apiKey: parameter, revoked: true }));
      });
    },
  });

/** Throws an ApiError when a field has no allowed value. */
function readKeyRecord(
  context: Context,
  body: Static<typeof schema.CreateKeyBody>,
  sealedSecret: string,
  createdAt: number,
): KeyRecord {
  const { label, permissions, allowedIps = [], expiresAt = 0 } = body;
  if (parseAddressList(allowedIps) === null)
    throw new ApiError("BAD_VALUE", {
      field: "allowedIps",
      message:
        "An entry of allowedIps is not an IP address or subnet. Send addresses like 203.0.113.7 or 203.0.113.0/24.",
    });
  if (body.expiresAt !== undefined && expiresAt <= createdAt)
    throw new ApiError("BAD_VALUE", { field: "expiresAt", message: "expiresAt is in the past. Send a later time." });
  return { label, permissions, allowedIps, sealedSecret, expiresAt, createdAt, ...readLimits(context, body) };
}

/** The key's limits beside its permissions. A field without a limit is left out. */
function readLimits({ symbols }: Context, body: Static<typeof schema.CreateKeyBody>): Partial<KeyRecord> {
  const { allowedSymbols = [], maxOrderNotional, maxPositionNotional, maxLeverage } = body;
  for (const symbol of allowedSymbols) symbols.bySymbol(symbol, "allowedSymbols");
  return {
    ...(allowedSymbols.length > 0 && { allowedSymbols }),
    ...(maxOrderNotional !== undefined && { maxOrderQuanta: readAmount(maxOrderNotional, "maxOrderNotional") }),
    ...(maxPositionNotional !== undefined && {
      maxPositionQuanta: readAmount(maxPositionNotional, "maxPositionNotional"),
    }),
    ...(maxLeverage !== undefined && { maxLeverage }),
  };
}

function describeKey({ credential, record }: Key) {
  const { label, permissions, allowedIps, allowedSymbols = [], expiresAt, createdAt } = record;
  const { maxOrderQuanta, maxPositionQuanta, maxLeverage } = record;
  return {
    apiKey: credential,
    label,
    permissions,
    allowedIps,
    allowedSymbols,
    maxOrderNotional: maxOrderQuanta === undefined ? null : printQuanta(maxOrderQuanta),
    maxPositionNotional: maxPositionQuanta === undefined ? null : printQuanta(maxPositionQuanta),
    maxLeverage: maxLeverage ?? null,
    expiresAt: expiresAt === 0 ? null : expiresAt,
    createdAt,
  };
}
