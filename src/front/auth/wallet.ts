import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { isIPv6 } from "node:net";
import type { TimeMs } from "../../core/base/units.ts";
import type { Address } from "../../packages/viem.ts";
import { createSiweMessage, getAddress, parseSiweMessage } from "../../packages/viem.ts";
import { ApiError } from "../common/errors.ts";
import { SeenSignatures } from "./seen-signatures.ts";
import type { WalletSignatures } from "./wallet-signature.ts";

interface WalletOptions {
  /** Host and port of the site that asks for the signature, as wallets show it. */
  domain: string;
  uri: string;
  /** The default, for clients that name none. */
  chainId: number;
  signatures: WalletSignatures;
}

interface IssuedChallenge {
  message: string;
  nonce: string;
  expiresAt: TimeMs;
}

/** Everything that the nonce of a message holds. */
interface Challenge {
  readonly address: Address;
  readonly chainId: number;
  readonly issuedAt: TimeMs;
  /** 32 hex digits, the last of the nonce. */
  readonly tag: string;
}

const CHALLENGE_TTL_MS = 5 * 60_000;
// A nonce in hex: time, random digits, address, chain id, and the HMAC-SHA256 of these, cut to 128 bits.
const NONCE = /^([0-9a-f]{11})([0-9a-f]{8})([0-9a-f]{40})([0-9a-f]{1,14})([0-9a-f]{32})$/;
const TIME_DIGITS = 11;
const RANDOM_BYTES = 4;
const TAG_DIGITS = 32;
const STATEMENT = "Sign in to perpd. This costs nothing and moves no money.";
const ZERO_ADDRESS: Address = `0x${"0".repeat(40)}`;

/**
 * Logins with a wallet. It issues EIP-4361 messages, each valid for one login within five minutes. It remembers none of them:
 * the nonce holds the challenge and is signed by the exchange. So a flood of challenges cannot push out those of others.
 */
export class Wallets {
  private readonly options: WalletOptions;
  /** Not kept in the data folder: after a restart no nonce is known to be unused. */
  private readonly key = randomBytes(32);
  /** The tags of used nonces. A nonce gets here with a valid signature only, so its number is that of the logins. */
  private readonly used = new SeenSignatures(CHALLENGE_TTL_MS);

  /** Throws when an EIP-4361 message cannot hold the domain or the URI. */
  constructor(options: WalletOptions) {
    this.options = options;
    this.compose("0".repeat(TAG_DIGITS), { address: ZERO_ADDRESS, chainId: 1, issuedAt: 0, tag: "" });
  }

  issue(address: string, chainId: number | undefined, now: TimeMs): IssuedChallenge {
    const challenge = { address: readAddress(address), chainId: chainId ?? this.options.chainId, issuedAt: now };
    const time = now.toString(16).padStart(TIME_DIGITS, "0");
    const random = randomBytes(RANDOM_BYTES).toString("hex");
    const signed = time + random + challenge.address.slice(2).toLowerCase() + challenge.chainId.toString(16);
    const tag = this.tagOf(signed);
    const nonce = signed + tag;
    return { message: this.compose(nonce, { ...challenge, tag }), nonce, expiresAt: now + CHALLENGE_TTL_MS };
  }

  /**
   * Resolves to the address that signed the message of its challenge. That uses up the challenge; a refusal does not. See
   * also restore().
   * `remoteAddress`: of the client.
   * Rejects with an ApiError (401) when anything is wrong.
   */
  async redeem(message: string, signature: string, now: TimeMs, remoteAddress = ""): Promise<Address> {
    const nonce = parseSiweMessage(message).nonce ?? "";
    const challenge = this.open(nonce);
    if (challenge === null || challenge.issuedAt + CHALLENGE_TTL_MS <= now) throw new ApiError("CHALLENGE_NOT_FOUND");
    // The exchange wrote the message itself, so one comparison covers domain, URI, chain, address and times.
    const issued = this.compose(nonce, challenge);
    if (message !== issued) throw mismatch(message, issued);
    const { address, chainId } = challenge;
    await this.options.signatures.check({ address, chainId, message, signature, remoteAddress });
    const memory = this.used.add(challenge.tag, challenge.issuedAt, now);
    if (memory === "SEEN") throw new ApiError("CHALLENGE_NOT_FOUND");
    if (memory === "FULL") throw new ApiError("OVERLOADED");
    return challenge.address;
  }

  /** The login with this message was refused after redeem(), and opened no session. The challenge is unused again. */
  restore(message: string): void {
    const challenge = this.open(parseSiweMessage(message).nonce ?? "");
    if (challenge !== null) this.used.remove(challenge.tag);
  }

  /** The challenge of a nonce; null if this process did not issue it. */
  private open(nonce: string): Challenge | null {
    const [, time, , address, chainId, tag] = NONCE.exec(nonce) ?? [];
    if (time === undefined || address === undefined || chainId === undefined || tag === undefined) return null;
    const due = this.tagOf(nonce.slice(0, -TAG_DIGITS));
    if (!timingSafeEqual(Buffer.from(tag), Buffer.from(due))) return null;
    return {
      address: getAddress(`0x${address}`),
      chainId: Number.parseInt(chainId, 16),
      issuedAt: Number.parseInt(time, 16),
      tag,
    };
  }

  private tagOf(signed: string): string {
    return createHmac("sha256", this.key).update(signed).digest("hex").slice(0, TAG_DIGITS);
  }

  private compose(nonce: string, { address, chainId, issuedAt }: Challenge): string {
    const { domain, uri } = this.options;
    const isAddress = isIPv6Authority(domain);
    const message = createSiweMessage({
      address,
      chainId,
      domain: isAddress ? STAND_IN_DOMAIN : domain,
      uri,
      nonce,
      version: "1",
      statement: STATEMENT,
      issuedAt: new Date(issuedAt),
      expirationTime: new Date(issuedAt + CHALLENGE_TTL_MS),
    });
    return isAddress ? domain + message.slice(STAND_IN_DOMAIN.length) : message;
  }
}

/**
 * Accepts upper or lower case. Mixed case must match the checksum of EIP-55, which catches typing errors. Refuses the zero
 * address, since money sent to it is lost.
 */
export function readAddress(text: string): Address {
  const address = getAddress(text);
  if (address === ZERO_ADDRESS)
    throw new ApiError("BAD_VALUE", {
      field: "address",
      message: "The zero address belongs to nobody. Use your own address.",
    });
  const digits = text.slice(2);
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase() || text === address) return address;
  throw new ApiError("BAD_VALUE", {
    field: "address",
    message: "The checksum of the address (EIP-55) is wrong. Check the address, or send it in lower case.",
  });
}

/** `[::1]:8080` is a valid domain by EIP-4361, but viem refuses it, so viem gets a stand-in. */
function isIPv6Authority(domain: string): boolean {
  const address = /^\[(.+)\](?::[0-9]{1,5})?$/.exec(domain)?.[1];
  return address !== undefined && isIPv6(address);
}
/** Replaced in the message afterwards, which begins with its domain. */
const STAND_IN_DOMAIN = "localhost";

const MESSAGE_FIELDS = [
  "domain",
  "address",
  "uri",
  "version",
  "chainId",
  "issuedAt",
  "expirationTime",
  "notBefore",
  "statement",
] as const;

/** Names the first field in which the two messages differ, if there is one. */
function mismatch(message: string, issued: string): ApiError {
  const [signed, due] = [parseSiweMessage(message), parseSiweMessage(issued)];
  const differs = MESSAGE_FIELDS.find((name) => String(signed[name]) !== String(due[name]));
  return new ApiError("CHALLENGE_MISMATCH", { field: "message", ...(differs && { details: { differs } }) });
}
