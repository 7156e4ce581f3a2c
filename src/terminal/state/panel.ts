import { signal } from "@preact/signals";
import type { text } from "../text/catalogue.ts";

/** On a phone one panel is shown at a time. */
export type PanelName = keyof typeof text.panelNames;
export const panel = signal<PanelName>("chart");
