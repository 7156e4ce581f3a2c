import { PERMISSIONS } from "../../core/base/enums.ts";
import Type from "../../packages/typebox.ts";
import {
  Address,
  ApiKeyName,
  Approval,
  Decimal,
  DecimalOut,
  listOf,
  nullable,
  object,
  SessionId,
  SymbolName,
  Time,
  WalletSignature,
} from "./scalars.ts";

const EXAMPLE_MESSAGE = [
  "127.0.0.1:8080 wants you to sign in with your Ethereum account:",
  "0x8ba1f109551bD432803012645Ac136ddd64DBA72",
  "",
  "...",
].join("\n");

export const ChallengeBody = object({
  address: Address,
  chainId: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "Chain id shown in the message.",
      examples: [1],
    }),
  ),
});
export const Challenge = object(
  {
    message: Type.String({
      description: "The EIP-4361 message. Sign it as it is (personal_sign).",
      examples: [EXAMPLE_MESSAGE],
    }),
    nonce: Type.String({ description: "Valid for one login.", examples: ["3f1c9b7a5d2e4860"] }),
    expiresAt: Time("The challenge must be used before this time."),
  },
  { description: "The message that the wallet must sign." },
);

export const LoginBody = object({
  message: Type.String({
    minLength: 1,
    maxLength: 2048,
    description: "The message of the challenge, unchanged.",
    examples: [EXAMPLE_MESSAGE],
  }),
  signature: WalletSignature,
});
export const Session = object(
  {
    token: Type.String({
      description: "Send it as `Authorization: Bearer TOKEN`. Shown once.",
      examples: ["Zk3vQ1x8Yb0TfR6mW2pLc9sHd4nJ7gAeUuXiOoKqVtM"],
    }),
    accountId: Type.String({ examples: ["16"] }),
    address: Address,
    expiresAt: Time("When the session ends."),
  },
  { description: "A wallet session." },
);
export const OpenSession = object(
  {
    sessionId: SessionId,
    expiresAt: Time("When the session ends."),
    current: Type.Boolean({ description: "True for the session of this request." }),
  },
  { description: "An open session, without its token." },
);
export const OpenSessionList = listOf(
  OpenSession,
  "The open sessions of the account. The one that ends last comes first.",
);
export const EndedSessions = object({
  accountId: Type.String({ examples: ["16"] }),
  ended: Type.Integer({ minimum: 0, description: "Number of ended sessions.", examples: [2] }),
});
export const LoggedOut = object({ accountId: Type.String({ examples: ["16"] }), loggedOut: Type.Boolean() });

export const Permission = Type.Enum(PERMISSIONS, { description: "What a key may do." });
const Permissions = Type.Array(Permission, {
  minItems: 1,
  maxItems: PERMISSIONS.length,
  uniqueItems: true,
  description:
    "READ: read the account. TRADE: place and cancel orders. WITHDRAW: withdraw money. No permission includes another.",
});
const AllowedIps = Type.Array(Type.String({ maxLength: 49, examples: ["203.0.113.7"] }), {
  maxItems: 20,
  description: "IPv4 or IPv6 addresses or subnets (`10.0.0.0/8`) from which the key may be used. Empty: any address.",
});
const Label = Type.String({
  pattern: "^[\\x20-\\x7e]{1,64}$",
  description: "Your own name for the key.",
  examples: ["bot 1"],
});

const AllowedSymbols = Type.Array(SymbolName, {
  maxItems: 255,
  uniqueItems: true,
  description: "Symbols that the key may trade. Empty: all. It may read all symbols in any case.",
});
const MaxLeverage = Type.Integer({
  minimum: 1,
  maximum: 1000,
  description:
    "The key cannot set a higher leverage. Where the leverage is higher, it can only place reduce-only orders.",
  examples: [5],
});
const MAX_ORDER =
  "The largest notional of one order of the key, in USDC. It counts at the highest price at which the order may trade: for a market buy, the edge of the price band or of its `maxSlippage`. Reduce-only orders are not limited.";
const MAX_POSITION =
  "The largest notional of a position at the mark price when the key places an order. All orders of that side count, untriggered ones included. The part that fills at once reduces a position on the other side. The part that rests or waits counts in full, because that position may be closed before.";

export const CreateKeyBody = object({
  label: Label,
  permissions: Permissions,
  allowedIps: Type.Optional(AllowedIps),
  allowedSymbols: Type.Optional(AllowedSymbols),
  maxOrderNotional: Type.Optional(Decimal(MAX_ORDER, "10000")),
  maxPositionNotional: Type.Optional(Decimal(MAX_POSITION, "50000")),
  maxLeverage: Type.Optional(MaxLeverage),
  expiresAt: Type.Optional(Time("When the key expires.")),
  approval: Type.Optional(Approval),
});
export const CreatedKey = object(
  {
    apiKey: ApiKeyName,
    secret: Type.String({
      description: "The key's secret, which signs requests. Shown once.",
      examples: ["5f0c8a1b".repeat(8)],
    }),
  },
  { description: "A new API key." },
);
export const ApiKey = object(
  {
    apiKey: ApiKeyName,
    label: Label,
    permissions: Permissions,
    allowedIps: AllowedIps,
    allowedSymbols: AllowedSymbols,
    maxOrderNotional: nullable(DecimalOut(MAX_ORDER, "10000")),
    maxPositionNotional: nullable(DecimalOut(MAX_POSITION, "50000")),
    maxLeverage: nullable(MaxLeverage),
    expiresAt: nullable(Time("When the key expires.")),
    createdAt: Time("When the key was created."),
  },
  { description: "An API key, without its secret." },
);
export const ApiKeyList = listOf(ApiKey, "The account's keys, newest first.");
export const RevokedKey = object({ apiKey: ApiKeyName, revoked: Type.Boolean() });
