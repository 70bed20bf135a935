// Preact with htm's templates: html`<p>${text}</p>`. Text is always text: nothing here makes markup of a string.
import { h, render, Fragment } from '../vendor/preact.js';
import { useState, useEffect, useRef, useMemo, useCallback, useId, useLayoutEffect } from '../vendor/hooks.js';
import htm from '../vendor/htm.js';

export const html = htm.bind(h);
export { h, render, Fragment, useState, useEffect, useRef, useMemo, useCallback, useId, useLayoutEffect };
