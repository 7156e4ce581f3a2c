import { randomBytes } from "node:crypto";
import { isIPv6 } from "node:net";
import type { Address } from "viem";
import { createSiweMessage, parseSiweMessage } from "viem/siwe";
import { getAddress } from "viem/utils";
import type { TimeMs } from "../../core/base/units.ts";
import { ApiError } from "../common/errors.ts";
import { readSignature } from "./wallet-signature.ts";

export interface WalletOptions {
  /** Host and port of the site that asks for the signature, as wallets show it. */
  domain: string;
  uri: string;
  /** The default, for clients that name none. */
  chainId: number;
  /**
   * Resolves to the address that signed a message, or null when the signature is invalid. It takes milliseconds, so it runs
   * in the compute pool. Rejects when the queue of the pool is full.
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
/** A further one replaces the oldest. A flood makes other clients ask again but takes no memory. */
const MAX_OUTSTANDING = 50_000;
const NONCE_BYTES = 16;
const STATEMENT = "Sign in to perpd. This costs nothing and moves no money.";
const ZERO_ADDRESS: Address = `0x${"0".repeat(40)}`;

/** Logins with a wallet. It issues EIP-4361 messages, each valid for one login within five minutes. */
export class Wallets {
  private readonly options: WalletOptions;
  /** By nonce, oldest first. */
  private readonly outstanding = new Map<string, Challenge>();

  /** Throws when an EIP-4361 message cannot hold the domain or the URI. */
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
   * Resolves to the address that signed the message of its challenge. The challenge is used up in any case, before the slow
   * check begins. Rejects with an ApiError (401) when anything is wrong.
   */
  async redeem(message: string, signature: string, now: TimeMs): Promise<Address> {
    const nonce = parseSiweMessage(message).nonce ?? "";
    const challenge = this.outstanding.get(nonce);
    this.outstanding.delete(nonce);
    if (challenge === undefined || challenge.issuedAt + CHALLENGE_TTL_MS <= now)
      throw new ApiError("CHALLENGE_NOT_FOUND");
    // The exchange wrote the message itself, so one comparison covers domain, URI, chain, address and times.
    const issued = this.compose(nonce, challenge);
    if (message !== issued) throw mismatch(message, issued);
    const recovered = await this.recover(message, readSignature(signature));
    if (recovered?.toLowerCase() !== challenge.address.toLowerCase())
      throw new ApiError("BAD_SIGNATURE", { field: "signature", details: { recovered, expected: challenge.address } });
    return challenge.address;
  }

  private async recover(message: string, signature: string): Promise<string | null> {
    try {
      return await this.options.recover(message, signature);
    } catch {
      throw new ApiError("OVERLOADED", {
        message: "There are too many logins at once. Ask for a new challenge and try again.",
      });
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

  /** All challenges live equally long, so the oldest come first. */
  private forget(now: TimeMs): void {
    for (const [nonce, { issuedAt }] of this.outstanding) {
      if (issuedAt + CHALLENGE_TTL_MS > now && this.outstanding.size < MAX_OUTSTANDING) return;
      this.outstanding.delete(nonce);
    }
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
