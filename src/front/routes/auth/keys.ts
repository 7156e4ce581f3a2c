import type { Static } from "typebox";
import { LEDGER } from "../../../core/base/enums.ts";
import { printQuanta } from "../../../core/base/units.ts";
import { CreateKey, RevokeKey } from "../../../core/protocol/commands.ts";
import { blank } from "../../../core/protocol/message-schema.ts";
import type { KeyRecord } from "../../../core/protocol/payloads.ts";
import { Done } from "../../../core/protocol/replies.ts";
import { errorsIn } from "../../../wire/error-codes.ts";
import { ApiKeyList, CreatedKey, CreateKeyBody, RevokedKey } from "../../../wire/schema/auth.ts";
import { ApiKeyName } from "../../../wire/schema/scalars.ts";
import { newApiKey, newSecret, parseAllowedIps } from "../../auth/keys.ts";
import { KEEPING_COST } from "../../auth/limits.ts";
import { ApiError } from "../../common/errors.ts";
import type { Key } from "../../exchange/credentials.ts";
import { replyOf, requestFor } from "../../exchange/request.ts";
import { readAmount } from "../../json/amounts.ts";
import { listJson } from "../../json/json-writers.ts";
import type { Context } from "../../routing/context.ts";
import { type Route, route } from "../../routing/route.ts";

export const createKeyRoute = (context: Context): Route =>
  route({
    method: "POST",
    path: "/auth/keys",
    access: "SESSION",
    summary: "Create an API key. Its secret is shown only in this answer",
    description:
      "When the account has as many keys as it may, the new key replaces the one that expired first, if any.",
    cost: KEEPING_COST,
    body: CreateKeyBody,
    replies: { 201: CreatedKey },
    errors: errorsIn("CREATE_KEY"),
    handle({ call, principal, body }) {
      const [apiKey, secret] = [newApiKey(), newSecret()];
      const record = readKeyRecord(context, body, context.vault.seal(secret, apiKey), Date.now());
      const command = { ...blank(CreateKey), accountId: principal.accountId, apiKey, record };
      requestFor(context, call, LEDGER, command, (transaction) => {
        replyOf(transaction, Done.code);
        call.reply(201, JSON.stringify({ apiKey, secret }));
      });
    },
  });

export const keysRoute = ({ credentials }: Context): Route =>
  route({
    method: "GET",
    path: "/auth/keys",
    access: "SESSION",
    summary: "The account's API keys",
    replies: { 200: ApiKeyList },
    handle({ call, principal }) {
      const rows = credentials.keysOf(principal.accountId).map((key) => JSON.stringify(describeKey(key)));
      call.reply(200, listJson(rows, null));
    },
  });

export const revokeKeyRoute = (context: Context): Route =>
  route({
    method: "DELETE",
    path: "/auth/keys/:apiKey",
    access: "SESSION",
    summary: "Revoke an API key",
    parameter: ApiKeyName,
    replies: { 200: RevokedKey },
    errors: errorsIn("REVOKE_KEY"),
    handle({ call, principal, parameter }) {
      const command = { ...blank(RevokeKey), accountId: principal.accountId, apiKey: parameter };
      requestFor(context, call, LEDGER, command, (transaction) => {
        replyOf(transaction, Done.code);
        call.reply(200, JSON.stringify({ apiKey: parameter, revoked: true }));
      });
    },
  });

/** Throws an ApiError when a field has no allowed value. */
function readKeyRecord(
  context: Context,
  body: Static<typeof CreateKeyBody>,
  sealedSecret: string,
  createdAt: number,
): KeyRecord {
  const { label, permissions, allowedIps = [], expiresAt = 0 } = body;
  if (parseAllowedIps(allowedIps) === null)
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
function readLimits({ symbols }: Context, body: Static<typeof CreateKeyBody>): Partial<KeyRecord> {
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
