import { randomBytes } from "node:crypto";
import { isIPv6 } from "node:net";
import type { Address } from "viem";
import { createSiweMessage, parseSiweMessage } from "viem/siwe";
import { getAddress } from "viem/utils";
import type { TimeMs } from "../../core/base/units.ts";
import { ApiError } from "../common/errors.ts";

export interface WalletOptions {
  /** Who asks for the signature: host and port, as wallets show it. */
  domain: string;
  uri: string;
  /** Unless the client names another. */
  chainId: number;
  /**
   * Finds the address that signed a message, or null when the signature is none: in the compute pool, since it takes
   * milliseconds. Rejects when the pool's queue is full.
   */
  recover: (message: string, signature: string) => Promise<string | null>;
}

export interface IssuedChallenge {
  message: string;
  nonce: string;
  expiresAt: TimeMs;
}

interface Challenge {
  readonly address: Address;
  readonly chainId: number;
  readonly issuedAt: TimeMs;
}

const CHALLENGE_TTL_MS = 5 * 60_000;
/** More push out the oldest: a flood makes others ask again, and takes no memory. */
const MAX_OUTSTANDING = 50_000;
const NONCE_BYTES = 16;
const STATEMENT = "Sign in to perpd. This costs nothing and moves no money.";
const ZERO_ADDRESS: Address = `0x${"0".repeat(40)}`;

/** Half of the curve's order, in hex: of the two signatures that recover the same address, the higher is refused. */
const MAX_S = "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0";

/** Logins with a wallet: hands out EIP-4361 messages, each good for one login within five minutes. */
export class Wallets {
  private readonly options: WalletOptions;
  /** By nonce, oldest first. */
  private readonly outstanding = new Map<string, Challenge>();

  /** Throws when the domain or URI cannot stand in an EIP-4361 message. */
  constructor(options: WalletOptions) {
    this.options = options;
    this.compose("0".repeat(2 * NONCE_BYTES), { address: ZERO_ADDRESS, chainId: 1, issuedAt: 0 });
  }

  issue(address: string, chainId: number | undefined, now: TimeMs): IssuedChallenge {
    this.forget(now);
    const nonce = randomBytes(NONCE_BYTES).toString("hex");
    const challenge = { address: readAddress(address), chainId: chainId ?? this.options.chainId, issuedAt: now };
    this.outstanding.set(nonce, challenge);
    return { message: this.compose(nonce, challenge), nonce, expiresAt: now + CHALLENGE_TTL_MS };
  }

  /**
   * The address that has signed the message of its challenge. The challenge is spent whatever comes of it, before the
   * slow part begins; throws an ApiError (401) when anything is wrong.
   */
  async redeem(message: string, signature: string, now: TimeMs): Promise<Address> {
    const nonce = parseSiweMessage(message).nonce ?? "";
    const challenge = this.outstanding.get(nonce);
    this.outstanding.delete(nonce);
    if (challenge === undefined || challenge.issuedAt + CHALLENGE_TTL_MS <= now)
      throw new ApiError("CHALLENGE_NOT_FOUND");
    // Every field at once, since the exchange wrote the message itself: domain, URI, chain, address and times.
    const issued = this.compose(nonce, challenge);
    if (message !== issued) throw mismatch(message, issued);
    if (signature.slice(66, 130).toLowerCase() > MAX_S)
      throw new ApiError("BAD_SIGNATURE", {
        field: "signature",
        message: "The signature is not in its canonical form.",
      });
    const recovered = await this.recover(message, signature);
    if (recovered?.toLowerCase() !== challenge.address.toLowerCase())
      throw new ApiError("BAD_SIGNATURE", { field: "signature", details: { recovered, expected: challenge.address } });
    return challenge.address;
  }

  private async recover(message: string, signature: string): Promise<string | null> {
    try {
      return await this.options.recover(message, signature);
    } catch {
      throw new ApiError("OVERLOADED", { message: "Too many logins at once. Ask for a new challenge." });
    }
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

  /** All live equally long, so the oldest are the first to go. */
  private forget(now: TimeMs): void {
    for (const [nonce, { issuedAt }] of this.outstanding) {
      if (issuedAt + CHALLENGE_TTL_MS > now && this.outstanding.size < MAX_OUTSTANDING) return;
      this.outstanding.delete(nonce);
    }
  }
}

/**
 * Any spelling of the case, but a mixed one must be the checksum of EIP-55: it exists to catch typing errors. Nobody has the
 * zero address: what is sent there is lost.
 */
export function readAddress(text: string): Address {
  const address = getAddress(text);
  if (address === ZERO_ADDRESS)
    throw new ApiError("BAD_VALUE", { field: "address", message: "The zero address is nobody's." });
  const digits = text.slice(2);
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase() || text === address) return address;
  throw new ApiError("BAD_VALUE", { field: "address", message: "The address fails its checksum (EIP-55)." });
}

/** `[::1]:8080`: by EIP-4361 a domain like others, but none to viem, so another one stands in for it there. */
function isIPv6Authority(domain: string): boolean {
  const address = /^\[(.+)\](?::[0-9]{1,5})?$/.exec(domain)?.[1];
  return address !== undefined && isIPv6(address);
}
/** A message begins with its domain. */
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

/** Names the field in which the two messages differ, where there is one. */
function mismatch(message: string, issued: string): ApiError {
  const [signed, due] = [parseSiweMessage(message), parseSiweMessage(issued)];
  const differs = MESSAGE_FIELDS.find((name) => String(signed[name]) !== String(due[name]));
  return new ApiError("CHALLENGE_MISMATCH", { field: "message", ...(differs && { details: { differs } }) });
}
