import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { PerpdClient } from "../../client/client.ts";
import { isOutcomeUnknown, PerpdError } from "../../client/error.ts";
import type { HaltMode, Instrument } from "../../client/types.ts";
import { Dialog } from "../dialogs/dialog.tsx";
import { toast } from "../state/toasts.ts";
import { cleanDecimal, decimalsOf, isMultiple, toStep } from "../text/decimal.ts";
import { percent, price, words } from "../text/format.ts";
import { refusalText } from "../text/refusals.ts";
import { client, instruments, refresh, tickers } from "./session.ts";
import { texts } from "./texts.ts";

/** The changes that an operator makes, each in a dialog: halt, resume, and the index price. */

type Action = "HALT" | "RESUME" | "INDEX";
const open = signal<{ readonly action: Action; readonly symbol: string } | null>(null);

export function openAction(action: Action, symbol: string): void {
  open.value = { action, symbol };
}

const close = (): void => {
  open.value = null;
};

export function ActionDialog() {
  const shown = open.value;
  const instrument = instruments.value.find((each) => each.symbol === shown?.symbol);
  if (shown === null || instrument === undefined) return null;
  const DialogOf = { HALT: HaltDialog, RESUME: ResumeDialog, INDEX: IndexDialog }[shown.action];
  return <DialogOf instrument={instrument} />;
}

/** Sends one change. Says what was done and closes the dialog, or keeps the refusal in it. */
function useChange(symbol: string) {
  const refusal = useSignal<unknown>(null);
  const isSending = useSignal(false);
  async function send(run: (from: PerpdClient) => Promise<{ title: string; detail: string }>): Promise<void> {
    const from = client.peek();
    if (from === null || isSending.peek()) return;
    isSending.value = true;
    try {
      const done = await run(from);
      toast({ key: symbol, tone: "good", ...done });
      close();
    } catch (error) {
      refusal.value = error;
    }
    isSending.value = false;
    await refresh();
  }
  return { refusal, isSending, send };
}

/** The exchange's message, with the field at fault and its limits. */
function Refusal({ error }: { error: unknown }) {
  if (error === null) return <div role="alert" />;
  const { field, details = {} } = error instanceof PerpdError ? error : {};
  const rows = Object.entries(details).map(([name, value]) => [words(name), [value].flat().join(", ")] as const);
  const isUnknown = error instanceof Error && isOutcomeUnknown(error);
  return (
    <div role="alert" class="refusal">
      <p class="note bad">{refusalText(error)}</p>
      {isUnknown && <p class="note bad">{texts.unknownOutcome}</p>}
      <dl class="pairs flat">
        {[...(field === undefined ? [] : [[texts.field, field] as const]), ...rows].map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function Field(props: {
  label: string;
  value: string;
  isDecimal?: boolean;
  fault?: ComponentChildren;
  onChange: (value: string) => void;
}) {
  const { label, value, isDecimal, fault, onChange } = props;
  const id = useId();
  return (
    <div class="field">
      <div class="box" data-bad={fault != null || undefined}>
        <label class="box-label" for={id}>
          {label}
        </label>
        <input
          id={id}
          inputMode={isDecimal === true ? "decimal" : "text"}
          autocomplete="off"
          autocapitalize="characters"
          spellcheck={false}
          maxLength={80}
          value={value}
          aria-invalid={fault != null}
          {...(fault != null && { "aria-describedby": `${id}-note` })}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      </div>
      {fault != null && (
        <p class="note bad" id={`${id}-note`}>
          {fault}
        </p>
      )}
    </div>
  );
}

function ActionForm(props: {
  title: string;
  label: string;
  tone?: "danger";
  isReady: boolean;
  change: ReturnType<typeof useChange>;
  onSubmit: () => void;
  children: ComponentChildren;
}) {
  const { title, label, tone, isReady, change, onSubmit, children } = props;
  const isSending = change.isSending.value;
  return (
    <Dialog title={title} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) onSubmit();
        }}
      >
        {children}
        <Refusal error={change.refusal.value} />
        <button type="submit" class={`big accent ${tone ?? ""}`} disabled={!isReady || isSending}>
          {isSending ? texts.sending : label}
        </button>
      </form>
    </Dialog>
  );
}

const MODES: readonly HaltMode[] = ["REDUCE_ONLY", "CANCEL_ONLY", "HALTED"];

function HaltDialog({ instrument: { symbol } }: { instrument: Instrument }) {
  const mode = useSignal<HaltMode>("CANCEL_ONLY");
  const typed = useSignal("");
  const change = useChange(symbol);
  const halt = (): Promise<void> =>
    change.send(async (from) => {
      const { status } = await from.halt(symbol, mode.peek());
      return { title: texts.halted(symbol), detail: words(status) };
    });
  return (
    <ActionForm
      title={texts.haltTitle(symbol)}
      label={texts.haltTitle(symbol)}
      tone="danger"
      isReady={typed.value.trim() === symbol}
      change={change}
      onSubmit={halt}
    >
      <fieldset class="modes">
        <legend>{texts.modeLabel}</legend>
        {MODES.map((each) => (
          <label class="mode" data-on={mode.value === each || undefined}>
            <input
              type="radio"
              name="mode"
              checked={mode.value === each}
              onChange={() => {
                mode.value = each;
              }}
            />
            <strong>{texts.modes[each].name}</strong>
            <span class="muted">{texts.modes[each].hint}</span>
          </label>
        ))}
      </fieldset>
      <p class="note">{texts.haltHint}</p>
      <Confirmation symbol={symbol} typed={typed.value} onChange={(value) => (typed.value = value)} />
    </ActionForm>
  );
}

const Confirmation = (props: { symbol: string; typed: string; onChange: (value: string) => void }) => (
  <Field label={texts.typeToConfirm(props.symbol)} value={props.typed} onChange={props.onChange} />
);

function ResumeDialog({ instrument: { symbol, statusReason } }: { instrument: Instrument }) {
  const typed = useSignal("");
  const change = useChange(symbol);
  const resume = (): Promise<void> =>
    change.send(async (from) => {
      const { status, statusReason: still } = await from.resume(symbol);
      const detail = still === null ? words(status) : texts.stillRestricted(words(status), words(still));
      return { title: texts.resumed(symbol), detail };
    });
  return (
    <ActionForm
      title={texts.resumeTitle(symbol)}
      label={texts.resumeTitle(symbol)}
      isReady={typed.value.trim() === symbol}
      change={change}
      onSubmit={resume}
    >
      {statusReason !== null && <p>{texts.reason(words(statusReason))}</p>}
      <p class="note">{texts.resumeHint}</p>
      <Confirmation symbol={symbol} typed={typed.value} onChange={(value) => (typed.value = value)} />
    </ActionForm>
  );
}

/** A larger move of the index needs the symbol's name. */
const MOST_UNCONFIRMED = 0.01;

function IndexDialog({ instrument: { symbol, tickSize } }: { instrument: Instrument }) {
  const typedPrice = useSignal("");
  const typedSymbol = useSignal("");
  const change = useChange(symbol);
  const decimals = decimalsOf(tickSize);
  const now = tickers.value.get(symbol)?.indexPrice ?? null;
  const clean = cleanDecimal(typedPrice.value);
  const isPrice = clean !== null && Number(clean) > 0;
  const isOnTick = isPrice && isMultiple(clean, tickSize);
  const move = isPrice && now !== null ? Number(clean) / Number(now) - 1 : null;
  const isLarge = move !== null && Math.abs(move) > MOST_UNCONFIRMED;
  const setPrice = (): Promise<void> =>
    change.send(async (from) => {
      const { indexPrice } = await from.setIndexPrice(symbol, clean ?? "");
      return { title: texts.priceSet(symbol), detail: price(indexPrice, decimals) };
    });
  return (
    <ActionForm
      title={texts.indexTitle(symbol)}
      label={texts.setPrice}
      isReady={isOnTick && (!isLarge || typedSymbol.value.trim() === symbol)}
      change={change}
      onSubmit={setPrice}
    >
      <Field
        label={texts.newPrice}
        value={typedPrice.value}
        isDecimal
        fault={
          typedPrice.value === "" || isOnTick ? null : isPrice ? (
            <OffTick value={clean} tickSize={tickSize} onUse={(value) => (typedPrice.value = value)} />
          ) : (
            texts.notAPrice
          )
        }
        onChange={(value) => {
          typedPrice.value = value;
          change.refusal.value = null;
        }}
      />
      <dl class="pairs flat">
        <div>
          <dt>{texts.currentIndex}</dt>
          <dd class="num">{price(now, decimals)}</dd>
        </div>
        <div>
          <dt>{texts.change}</dt>
          <dd class={`num ${isLarge ? "warn" : ""}`}>{percent(move)}</dd>
        </div>
      </dl>
      {isLarge && (
        <>
          <p class="note warn">{texts.moves(percent(move))}</p>
          <Confirmation symbol={symbol} typed={typedSymbol.value} onChange={(value) => (typedSymbol.value = value)} />
        </>
      )}
    </ActionForm>
  );
}

function OffTick(props: { value: string; tickSize: string; onUse: (value: string) => void }) {
  const { value, tickSize, onUse } = props;
  const nearest = [toStep(value, tickSize, "DOWN"), toStep(value, tickSize, "UP")].filter((each) => each !== "0");
  return (
    <>
      {texts.notAMultiple(tickSize)}{" "}
      {nearest.map((each) => (
        <button type="button" class="link" onClick={() => onUse(each)}>
          {texts.use(each)}
        </button>
      ))}
    </>
  );
}
